"""Appendix, errata and refuted lines of dfedmdc."""

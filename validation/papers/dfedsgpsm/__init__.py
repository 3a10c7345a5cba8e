"""Appendix, errata and refuted lines of dfedsgpsm."""

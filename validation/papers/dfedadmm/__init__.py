"""Appendix, errata and refuted lines of dfedadmm."""

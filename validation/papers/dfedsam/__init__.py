"""Appendix, errata and refuted lines of dfedsam."""

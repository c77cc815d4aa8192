"""Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016), Learning using unselected features (LUFe), section 4."""

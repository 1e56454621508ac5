"""Looking at robots: what there is to draw, live pages, and files that play in any browser."""

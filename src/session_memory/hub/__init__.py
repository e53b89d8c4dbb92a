"""A team's hub: takes what laptops share, gives it back to those who may see it, and forgets."""

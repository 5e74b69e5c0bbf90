prepare() { echo x; }

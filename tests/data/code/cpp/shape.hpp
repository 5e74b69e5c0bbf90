namespace geo { class Shape { public: void draw(); double area() { return side(); } double side(); }; }

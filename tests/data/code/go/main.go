package main
import "example.com/app/net"
func main() { c, err := net.New(); c.Chat("x"); _ = err }

package net
type Wire struct {}
func (w *Wire) Send(t string) {}
func help() {}

package net
type Client struct { w *Wire }
func New() (*Client, error) { return &Client{}, nil }
func (c *Client) Chat(t string) { c.w.Send(t); help() }

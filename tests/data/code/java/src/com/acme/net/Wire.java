package com.acme.net;
public class Wire { public void send(String t) {} }

package com.acme;
public class Base { void close() {} }

package com.acme;
public class Reply { void show() {} }

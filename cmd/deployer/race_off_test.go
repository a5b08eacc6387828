//go:build !race

package main

// raceFactor is the factor of memory for the race detector.
const raceFactor = 1

//go:build !race

package main

// raceFactor is how much more memory the race detector takes here.
const raceFactor = 1

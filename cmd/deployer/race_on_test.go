//go:build race

package main

// raceFactor is the factor of memory for the race detector, whose record of accesses takes more
// than the memory accessed. Of TestHostileRecords, the program alone takes 60 MB without the
// race detector and 106 MB with it, and the records 160 MB and up to 500 MB.
const raceFactor = 3

package main

import (
	"testing"
	"time"
)

func TestProcessTime(t *testing.T) {
	group, used, err := processTime("4711 (nginx: worker) S 1 4700 4700 0 -1 4194560 100 0 0 0 250 130 0 0 20 0 1 0 100 1 1")
	if err != nil || group != 4700 || used != 3800*time.Millisecond {
		t.Errorf("got group %d, %s, %v", group, used, err)
	}
	if _, _, err := processTime("4711 (short) S 1"); err == nil {
		t.Error("a short line is not an error")
	}
}

func TestParseMemory(t *testing.T) {
	now, most, err := parseMemory("Name:\tkeeper\nVmHWM:\t   40960 kB\nVmRSS:\t   30720 kB\n")
	if err != nil || now != 30 || most != 40 {
		t.Errorf("got %g, %g, %v", now, most, err)
	}
	if _, _, err := parseMemory("Name:\tkthreadd\n"); err == nil {
		t.Error("a process without memory is not an error")
	}
}

//go:build lab

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/figures"
)

var (
	birdRoot = flag.String("bird", "", "directory with the unpacked packages of BIRD (required)")
	speakers = flag.Int("speakers", 4, "number of nodes before one joins")
)

// TestSpeakers runs the benchmark with a few nodes, and an interrupted one, and looks for what they leave.
func TestSpeakers(t *testing.T) {
	figures.Scenario(t)
	if *birdRoot == "" {
		t.Fatal("-bird is missing: run `make e2e-networks`, or `make bench-bird` and name the directory")
	}
	var out strings.Builder
	picture := filepath.Join(t.TempDir(), "birds.svg")
	b := benchmark{out: &out, sizes: []int{*speakers}, reflectors: []int{0, 2}, root: *birdRoot, plot: picture}
	if err := b.complete(); err != nil {
		t.Fatal(err)
	}
	err := b.run(t.Context())
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	// Of the node that joins, too: all with all; the two reflectors with each other and with all others.
	n := *speakers + 1
	if want := fmt.Sprintf("\nbird speakers=%d mesh_sessions=%d reflector_sessions=%d ", *speakers, n*(n-1)/2, 1+2*(n-2)); !strings.Contains(out.String(), want) {
		t.Errorf("there is no summary %q", want)
	}
	if _, err := os.Stat(picture); err != nil {
		t.Error(err)
	}
	requireNothingLeft(t)

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel) // BIRD connects 1 s after its start at the earliest
	if _, err := b.cluster(ctx, 4, 0); err == nil {
		t.Error("an interrupted benchmark ends without an error")
	}
	requireNothingLeft(t)
}

// requireNothingLeft checks that the benchmark has removed its namespaces and ended its processes.
func requireNothingLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(namespaceDir, prefix+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the benchmark has left %v, %v", left, err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range processes {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), os.TempDir()+"/"+prefix) {
			t.Errorf("the benchmark has left the process %q", text)
		}
	}
}

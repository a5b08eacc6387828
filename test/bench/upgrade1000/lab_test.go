//go:build lab

package main

import (
	"flag"
	"strings"
	"testing"
)

var kwok = flag.String("kwok", "", "the program kwok, which make installs (required)")

// TestThirtyNodes runs the benchmark on 30 nodes.
func TestThirtyNodes(t *testing.T) {
	if *kwok == "" {
		t.Fatal("-kwok is missing: run `make e2e`, or `make bench-upgrade1000` and name the program that it has installed")
	}
	var out strings.Builder
	b := benchmark{out: &out, options: options{
		nodes: 30, podsPerNode: 3, zones: 3, batch: 6, zoneLimit: 3, kill: 8, seed: 1, // the host that fails is the 19th
		deployer: "../../../bin/deployer", kwok: *kwok, dir: t.TempDir(),
	}}
	if err := b.complete(); err != nil {
		t.Fatal(err)
	}
	err := b.run(t.Context())
	t.Log(out.String())
	if err != nil {
		t.Error(err)
	}
}

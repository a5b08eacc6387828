package main

import (
	"path/filepath"
	"testing"

	"deployer/test/fleet"
)

func TestLine(t *testing.T) {
	dir := t.TempDir()
	f, err := fleet.Start(3, fleet.Options{Dir: dir, Name: hostName, Other: discardInput})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := writeInventories(f, 1, dir); err != nil {
		t.Fatal(err)
	}
	l, err := measureTransport(t.Context(), filepath.Join(dir, inventoryFile))
	if err != nil || l.handshakes <= 0 || l.megabytes <= 0 {
		t.Errorf("%v, %v", l, err)
	}
	got := f.Traffic()
	if got.Connections != 3 || got.Received < transportBytes {
		t.Errorf("traffic is %+v", got)
	}
}

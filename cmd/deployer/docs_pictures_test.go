package main

import (
	"strings"
	"testing"
)

// TestPictureOfTheInstall compares the picture of the guide with the graph of the install.
func TestPictureOfTheInstall(t *testing.T) {
	t.Parallel()
	var out, complaints strings.Builder
	if code := run(t.Context(), []string{"graph", "-i", "../../docs/images/inventory.yaml", "--fold"}, strings.NewReader(""), &out, &complaints); code != exitOK {
		t.Fatalf("exit code %d: %s", code, complaints.String())
	}
	if out.String() != pageText(t, "../../docs/images/install.svg") {
		t.Error("docs/images/install.svg is not the graph of the install any more: run make pictures")
	}
}

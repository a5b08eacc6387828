package main

import (
	"strings"
	"testing"
)

// TestPictures compares the pictures of the guides with what their commands draw.
func TestPictures(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"install":       {"graph", "--fold"},
		"control-plane": {"inventory", "topology"},
		"pod-network":   {"inventory", "topology", "--show", "pod-network"},
	} {
		var out, complaints strings.Builder
		if code := run(t.Context(), append(args, "-i", "../../docs/images/inventory.yaml"), strings.NewReader(""), &out, &complaints); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", name, code, complaints.String())
		}
		if out.String() != pageText(t, "../../docs/images/"+name+".svg") {
			t.Errorf("docs/images/%s.svg is not what its command draws any more: run make pictures", name)
		}
	}
}

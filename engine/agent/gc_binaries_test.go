package agent

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/agent/agenttest"
)

func TestOldProgramsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	name := func(c string) string { return strings.Repeat(c, 64) }
	agenttest.WriteAged(t, dir+"/"+name("a"), "own, and oldest", 0o700, 9*time.Hour)
	agenttest.WriteAged(t, dir+"/"+name("b"), "", 0o700, 3*time.Hour)
	agenttest.WriteAged(t, dir+"/"+name("c"), "", 0o700, time.Hour)
	agenttest.WriteAged(t, dir+"/"+name("d"), "", 0o700, 2*time.Hour)
	agenttest.WriteAged(t, dir+"/.new12", "", 0o700, 2*time.Hour)
	agenttest.WriteAged(t, dir+"/.new13", "", 0o700, time.Minute)
	agenttest.WriteAged(t, dir+"/other", "", 0o700, 9*time.Hour)
	if err := removeOldBinaries(dir, "deployer-agent"); err != nil {
		t.Fatal(err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 7 {
		t.Fatalf("a program tried out by hand removed something: %v", all)
	}
	if err := removeOldBinaries(dir, name("a")); err != nil {
		t.Fatal(err)
	}
	var left []string
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{".new13", name("a"), name("c"), "other"}, left); diff != "" {
		t.Error(diff)
	}
}

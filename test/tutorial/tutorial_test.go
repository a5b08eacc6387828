//go:build lab

package tutorial

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// tutorialBlock finds the commands of docs/tutorial.md with their names and exit codes, and
// its files.
var tutorialBlock = regexp.MustCompile("(?ms)^```(sh|yaml) ([a-z.-]+)(?: (\\d+))?\n(.*?)^```$")

// TestTutorial runs the commands of the tutorial in their order.
func TestTutorial(t *testing.T) {
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	s := harness.New(t, "tutorial", plan.Spec{Masters: 3, Minions: 2})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster")["kubernetes"] = "v1.35.4" })
	dir := t.TempDir()
	for _, m := range tutorialBlock.FindAllStringSubmatch(string(page), -1) {
		kind, name, text := m[1], m[2], m[4]
		if kind == "yaml" {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, _ := strconv.Atoi(m[3])
		if !t.Run(name, func(t *testing.T) { runStep(s.On(t), text, dir, want) }) {
			return
		}
		if name == "upgrade" { // as the page says
			s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster")["kubernetes"] = "v1.36.3" })
		}
	}
}

// runStep runs the lines of a block. Files are in dir.
func runStep(s *harness.Site, text, dir string, want int) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSpace(line), " -i inventory.yaml", "")
		switch {
		case strings.HasPrefix(line, "deployer "):
			argv := strings.Fields(line)[1:]
			for i, word := range argv {
				switch word {
				case "greeting.yaml", "backups":
					argv[i] = filepath.Join(dir, word)
				case "RUN":
					argv[i] = runOf(s, "greeting.yaml")
				}
			}
			if argv[0] == "diagnose" {
				argv = append(argv, "--file", filepath.Join(dir, "diagnosis.tar.gz"))
			}
			if argv[0] == "apply" {
				argv = slices.Insert(argv, 1, "-i", s.Inventory)
			}
			s.RequireExit(s.Deployer(argv...), want)
		case strings.HasPrefix(line, "lab ssh --name tutorial "):
			host, command, _ := strings.Cut(strings.TrimPrefix(line, "lab ssh --name tutorial "), " -- ")
			s.Shell(host, command)
		default:
			s.T.Fatalf("the tutorial has a command that is neither deployer nor lab ssh: %s", line)
		}
	}
}

// runOf returns the id of the newest run of a playbook that was no dry run.
func runOf(s *harness.Site, playbook string) string {
	var all []struct{ Run, Verb, Playbook string }
	if err := json.Unmarshal([]byte(s.Must("runs", "list", "-o", "json").Stdout), &all); err != nil {
		s.T.Fatal(err)
	}
	for _, r := range all {
		if r.Verb == "run" && strings.HasSuffix(r.Playbook, playbook) {
			return r.Run
		}
	}
	s.T.Fatalf("no run of %s in %+v", playbook, all)
	return ""
}

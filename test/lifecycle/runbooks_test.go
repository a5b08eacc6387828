//go:build lab

package lifecycle

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// runbookBlock finds the commands of docs/guides/runbooks.md with their names.
var runbookBlock = regexp.MustCompile("(?ms)^```sh ([a-z-]+)\n(.*?)^```$")

// runbook runs the commands of a block of the runbooks as they stand there, with run
// in the place of RUN. They must end with exit code 0 or one of others.
func (s *site) runbook(block, run string, others ...int) (output string) {
	s.T.Helper()
	return s.runbookWith(block, []string{"RUN", run}, others...)
}

// runbookWith works like runbook with further replacements: words has pairs of a word
// of the page and its replacement.
func (s *site) runbookWith(block string, words []string, others ...int) (output string) {
	s.T.Helper()
	page, err := os.ReadFile("../../docs/guides/runbooks.md")
	if err != nil {
		s.T.Fatal(err)
	}
	for _, m := range runbookBlock.FindAllStringSubmatch(string(page), -1) {
		if m[1] != block {
			continue
		}
		for line := range strings.Lines(m[2]) {
			argv := strings.Fields(strings.NewReplacer(append(words, " -i inventory.yaml", "")...).Replace(line))
			switch argv[0] {
			case "deployer":
				// apply may have a plan instead of an inventory, and most of runs needs none.
				if argv[1] == "apply" || argv[1] == "runs" && argv[2] == "purge" {
					argv = append(argv, "-i", s.Inventory)
				}
				o := s.Deployer(argv[1:]...)
				if !slices.Contains(others, o.Code) {
					s.RequireExit(o, 0)
				}
				output += o.All()
			case "kubectl":
				output += s.Kubectl("m1", strings.Join(argv[1:], " "))
			default:
				s.T.Fatalf("the runbooks have a command that is neither deployer nor kubectl: %s", line)
			}
		}
		return output
	}
	s.T.Fatalf("the runbooks have no block %q", block)
	return ""
}

// runbooks causes the failures that the page of runbooks describes, and runs its
// commands.
func runbooks(s *site) {
	good := s.inventory()
	before := s.Digests("/var/lib/kubelet/config.yaml", nodes)

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "kubelet")["maxPods"] = 30
	})
	s.Must("install")
	out := s.runbook("bad-value", s.LastRun().Run)
	s.RequireTexts(out, "-maxPods: 30", "revert done")
	if diff := cmp.Diff(before, s.Digests("/var/lib/kubelet/config.yaml", nodes)); diff != "" {
		s.T.Errorf("the kubelet's configuration (- before, + after the runbook):\n%s", diff)
	}
	s.setInventory(good)
	s.RequireTexts(s.runbook("bad-value-gone", ""), "nothing to do")

	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args")["event-ttl"] = "5h"
	})
	u := s.StartRun("install")
	u.Until("the first change", changed)
	u.Kill()
	s.RequireTexts(s.runbook("stuck", s.LastRun().Run), "killed")
	for _, m := range masters {
		s.RequireTexts(s.Shell(m, "tr '\\0' '\\n' < /proc/$(pidof kube-apiserver)/cmdline"), "--event-ttl=5h")
	}
	s.setInventory(good)
	s.Must("install")

	s.DeployWeb()
	s.MoveWeb("n1")
	s.SetDisruptionBudget(2)
	book := filepath.Join(s.T.TempDir(), "drain.yaml")
	if err := os.WriteFile(book, []byte(drainOnly), 0o600); err != nil {
		s.T.Fatal(err)
	}
	o := s.Deployer("run", book)
	if o.Code == 0 {
		s.T.Errorf("a node was drained although a budget allows nothing:\n%s", o.All())
	}
	s.RequireTexts(o.All(), "PodDisruptionBudget default/web allows no disruption now")
	s.RequireSchedulable("n1", "after a drain that was late")
	s.RequireTexts(s.runbook("no-drain", ""), "web")
	s.SetDisruptionBudget(1)
	s.runbook("no-drain-resumed", "")
	s.RequireSchedulable("n1", "after the drain")
	s.RemoveWeb()
}

// drainOnly drains a node and lets it take pods again.
const drainOnly = `
- name: maintenance
  hosts: n1
  tasks:
    - name: one node
      block:
        - {name: move its pods elsewhere, kube_drain: {timeout: 8s}}
      always:
        - {name: take pods again, kube_uncordon: {timeout: 60s}}
`

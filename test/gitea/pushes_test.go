//go:build lab

package gitea

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// TestGitea installs a cluster by a push, adds a minion by another, has a pull request
// refused that would lose the quorum, and asks for drift.
func TestGitea(t *testing.T) {
	s := harness.New(t, "gitea", plan.Spec{Masters: 3, Minions: 2})
	f := newForge(s)
	work := f.clone()
	workflow, err := os.ReadFile(filepath.Join("..", "..", "examples", "ci", "forgejo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	push := func(branch, message string, files map[string]string) {
		t.Helper()
		for name, text := range files {
			path := filepath.Join(work, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f.git(work, "add", "-A")
		f.git(work, "commit", "-q", "-m", message)
		f.git(work, "push", "-q", "origin", "HEAD:"+branch)
	}

	push("main", "the cluster", map[string]string{
		".gitea/workflows/deployer.yaml": string(workflow),
		"deployer.ci.yaml":               "remote: origin\n",
		"inventory.yaml":                 f.inventory([]string{"m1", "m2", "m3"}, []string{"n1"}),
	})
	f.requireRun(work, "push", "success", "new cluster: deployed")
	f.requireVerified(work)

	f.git(work, "checkout", "-q", "-b", "fewer")
	push("fewer", "one master", map[string]string{"inventory.yaml": f.inventory([]string{"m1"}, []string{"n1"})})
	f.must("POST", f.repository("/pulls"), map[string]any{"title": "one master", "head": "fewer", "base": "main"}, nil)
	f.requireRun(work, "pull_request", "failure", "quorum: etcd would lose its quorum: m[2:3]")

	f.git(work, "checkout", "-q", "main")
	push("main", "n2 joins", map[string]string{"inventory.yaml": f.inventory([]string{"m1", "m2", "m3"}, []string{"n1", "n2"})})
	f.requireRun(work, "push", "success", "+ deployer scale-up n2", "new hosts: deployed")
	f.requireVerified(work)
	if nodes := s.Kubectl("m1", "get nodes -o name"); !strings.Contains(nodes, "node/n2") {
		t.Errorf("the cluster has no n2: %s", nodes)
	}

	f.must("POST", f.repository("/actions/workflows/deployer.yaml/dispatches"), map[string]any{"ref": "main"}, nil)
	f.requireRun(work, "workflow_dispatch", "success", "nothing to do: no host differs")
}

// inventory returns the inventory of the lab with these hosts.
func (f *forge) inventory(masters, minions []string) string {
	f.T.Helper()
	data, err := os.ReadFile(f.Inventory)
	if err != nil {
		f.T.Fatal(err)
	}
	var inv map[string]any
	if err := yaml.Unmarshal(data, &inv); err != nil {
		f.T.Fatal(err)
	}
	hosts := map[string]any{}
	for _, name := range append(append([]string{}, masters...), minions...) {
		hosts[name] = inv["hosts"].(map[string]any)[name]
	}
	inv["hosts"], inv["roles"] = hosts, map[string]any{"master": masters, "minion": minions}
	out, err := yaml.Marshal(inv)
	if err != nil {
		f.T.Fatal(err)
	}
	return string(out)
}

// clone makes a work tree whose remote is the repository.
func (f *forge) clone() string {
	f.T.Helper()
	work := f.T.TempDir()
	f.git(work, "init", "-q", "-b", "main")
	f.git(work, "remote", "add", "origin", strings.Replace(f.url, "://", "://"+owner+":"+f.token+"@", 1)+"/"+owner+"/clusters.git")
	return work
}

// git runs git in a work tree, in the network of the lab, and returns its output.
func (f *forge) git(work string, args ...string) string {
	f.T.Helper()
	cmd := f.Command(f.T.Context(), append([]string{"git", "-C", work, "-c", "user.name=lab", "-c", "user.email=lab@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.T.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// workflowRun is a run in Gitea's API.
type workflowRun struct {
	ID                 int
	Event              string
	Commit             string `json:"head_sha"`
	Status, Conclusion string
}

// requireRun waits for the end of the run of an event for the last commit of a work tree,
// at most ten minutes, and checks its conclusion and the log of its job.
func (f *forge) requireRun(work, event, conclusion string, texts ...string) {
	f.T.Helper()
	began := time.Now()
	commit := f.git(work, "rev-parse", "HEAD")
	var run workflowRun
	f.Eventually(10*time.Minute, "the workflow of the "+event+" ends", func() error {
		var all struct {
			Runs []workflowRun `json:"workflow_runs"`
		}
		f.must("GET", f.repository("/actions/runs"), nil, &all)
		i := slices.IndexFunc(all.Runs, func(r workflowRun) bool { return r.Event == event && r.Commit == commit })
		if i < 0 {
			return fmt.Errorf("no run for %s", commit)
		}
		if run = all.Runs[i]; run.Status != "completed" {
			return fmt.Errorf("it is %s", run.Status)
		}
		return nil
	})
	var list struct {
		Jobs []struct {
			ID               int
			Name, Conclusion string
		}
	}
	f.must("GET", f.repository(fmt.Sprintf("/actions/runs/%d/jobs", run.ID)), nil, &list)
	var text strings.Builder
	for _, job := range list.Jobs {
		if job.Conclusion == "skipped" {
			continue
		}
		var part string
		f.must("GET", f.repository(fmt.Sprintf("/actions/jobs/%d/logs", job.ID)), nil, &part)
		fmt.Fprintf(&text, "== job %s: %s\n%s", job.Name, job.Conclusion, part)
	}
	f.T.Logf("%s: %s in %.0fs", event, run.Conclusion, time.Since(began).Seconds())
	if run.Conclusion != conclusion {
		f.T.Fatalf("the workflow of the %s: %s, want %s\n%s", event, run.Conclusion, conclusion, text.String())
	}
	f.RequireTexts(text.String(), texts...)
	if strings.Contains(text.String(), f.token) {
		f.T.Errorf("the log has the token")
	}
}

// requireVerified checks that the repository has the pushed commit as the verified one.
func (f *forge) requireVerified(work string) {
	f.T.Helper()
	line := f.git(work, "ls-remote", "origin", "refs/deployer/verified/*")
	if verified, _, _ := strings.Cut(line, "\t"); verified != f.git(work, "rev-parse", "HEAD") {
		f.T.Errorf("verified: %q", line)
	}
}

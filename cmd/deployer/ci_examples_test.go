package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/ci/config"
)

// ciSite is a work tree with an inventory and its remote, in a temporary directory
// with a deployer for shells, which records ci run and ci drift and executes all
// other commands.
type ciSite struct {
	t     *testing.T
	root  string
	calls string
}

const ciShim = `#!/bin/sh
echo "$*" >> "$CALLS"
case "$2" in run|drift) exit 0;; esac
exec "$REAL" "$@"
`

func newCISite(t *testing.T) *ciSite {
	t.Helper()
	s := &ciSite{t: t, root: t.TempDir()}
	s.calls = filepath.Join(s.root, "calls")
	for _, dir := range []string{"bin", "real", "work"} {
		if err := os.MkdirAll(filepath.Join(s.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(s.root, "real", "deployer")); err != nil { // see TestMain
		t.Fatal(err)
	}
	s.write("bin/deployer", ciShim, 0o755)
	s.write("gitconfig", "[user]\nname = t\nemail = t@example.org\n", 0o644)
	s.write("work/inventory.yaml", "cluster: {name: lab}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n", 0o644)
	s.sh("", "git init -q --bare -b main ../origin.git && git init -q -b main . && git add . && git commit -qm first && git remote add origin ../origin.git && git push -q origin main && git commit -q --allow-empty -m second && git fetch -q origin")
	return s
}

func (s *ciSite) write(name, text string, mode fs.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.root, name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// installHooks copies the hooks of the examples into the bare repository.
func (s *ciSite) installHooks() {
	s.t.Helper()
	for _, hook := range []string{"pre-receive", "post-receive"} {
		s.write("origin.git/hooks/"+hook, string(readExample(s.t, "hook/"+hook)), 0o755)
	}
	if err := os.Mkdir(filepath.Join(s.root, "origin.git", "requests"), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// sh runs a script as a CI system does, with the variables that it sets.
func (s *ciSite) sh(stdin, script string, env ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", "-e", "-c", script)
	cmd.Dir, cmd.Stdin = filepath.Join(s.root, "work"), strings.NewReader(stdin)
	cmd.Env = append(s.environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// environ returns the environment of the site's processes.
func (s *ciSite) environ() []string {
	return []string{
		"PATH=" + filepath.Join(s.root, "bin") + ":" + os.Getenv("PATH"), "HOME=" + s.root, "CALLS=" + s.calls,
		"REAL=" + filepath.Join(s.root, "real", "deployer"), "GIT_CONFIG_GLOBAL=" + filepath.Join(s.root, "gitconfig"), "GIT_CONFIG_SYSTEM=/dev/null",
		"TMPDIR=" + s.root,
	}
}

func (s *ciSite) requireVerbs(want ...string) {
	s.t.Helper()
	data, err := os.ReadFile(s.calls)
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		got = append(got, words[0]+" "+words[1])
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("verbs %q, want %q", got, want)
	}
}

func readExample(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestExampleConfigIsValid(t *testing.T) {
	if _, err := config.Parse(config.File, readExample(t, "deployer.ci.yaml")); err != nil {
		t.Error(err)
	}
	for _, block := range yamlBlocks(t, "ci.md") {
		if _, err := config.Parse(config.File, block); err != nil && !strings.Contains(err.Error(), "no time zone") { // the machine may have none
			t.Error(err)
		}
	}
}

func TestExamplesOfActions(t *testing.T) {
	for _, file := range []string{"github.yaml", "forgejo.yaml"} {
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct {
					Run string `yaml:"run"`
				} `yaml:"steps"`
			} `yaml:"jobs"`
		}
		if err := yaml.Unmarshal(readExample(t, file), &workflow); err != nil {
			t.Fatal(err)
		}
		for job, want := range map[string][]string{"validate": {"ci plan", "ci validate"}, "deploy": {"ci run"}, "drift": {"ci drift"}} {
			t.Run(file+" "+job, func(t *testing.T) {
				s := newCISite(t)
				summary := filepath.Join(s.root, "summary.md")
				s.write("event.json", fmt.Sprintf(`{"before": %q}`, strings.TrimSpace(s.sh("", "git rev-parse HEAD~1"))), 0o644)
				commit := strings.TrimSpace(s.sh("", "git rev-parse HEAD"))
				if file == "forgejo.yaml" { // its steps check out themselves
					s.sh("", "git push -q origin HEAD:change && rm -rf .git inventory.yaml")
				}
				for _, step := range workflow.Jobs[job].Steps {
					if step.Run != "" {
						s.sh("", step.Run, "CI=true", "GITHUB_ACTIONS=true", "GITHUB_BASE_REF=main", "GITHUB_STEP_SUMMARY="+summary, "RUNNER_TEMP="+s.root,
							"GITHUB_SHA="+commit, "GITHUB_SERVER_URL=file://"+s.root, "GITHUB_REPOSITORY=origin.git", "GITHUB_EVENT_PATH="+filepath.Join(s.root, "event.json"))
					}
				}
				s.requireVerbs(want...)
				if text, _ := os.ReadFile(summary); job == "validate" && !strings.Contains(string(text), "| production | lab (`inventory.yaml`) | nothing |") {
					t.Errorf("summary: %s", text)
				}
			})
		}
	}
}

func TestExampleOfGitLab(t *testing.T) {
	var jobs map[string]yaml.Node
	if err := yaml.Unmarshal(readExample(t, "gitlab.yaml"), &jobs); err != nil {
		t.Fatal(err)
	}
	for job, want := range map[string][]string{"validate": {"ci validate"}, "deploy": {"ci run"}, "drift": {"ci drift"}} {
		t.Run(job, func(t *testing.T) {
			var parts struct {
				Script []any    `yaml:"script"`
				After  []string `yaml:"after_script"`
			}
			node := jobs[job]
			if err := node.Decode(&parts); err != nil {
				t.Fatal(err)
			}
			s := newCISite(t)
			var lines []string
			for _, line := range parts.Script { // a list within the list, of an anchor, is flattened
				if nested, ok := line.([]any); ok {
					for _, l := range nested {
						lines = append(lines, l.(string))
					}
					continue
				}
				lines = append(lines, line.(string))
			}
			s.sh("", strings.Join(append(lines, parts.After...), "\n"), "CI=true", "GITLAB_CI=true", "CI_BUILDS_DIR="+s.root,
				"CI_COMMIT_SHA="+strings.TrimSpace(s.sh("", "git rev-parse HEAD")), "CI_COMMIT_BEFORE_SHA=0000000000000000000000000000000000000000",
				"CI_MERGE_REQUEST_DIFF_BASE_SHA="+strings.TrimSpace(s.sh("", "git rev-parse HEAD~1")))
			s.requireVerbs(want...)
			if _, err := os.Stat(filepath.Join(s.root, "work", "reports", "gl-code-quality.json")); job == "validate" && err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExampleOfJenkins(t *testing.T) {
	steps := regexp.MustCompile(`(?m)^\s*sh (?:'(.*)'|"(.*)")$`).FindAllStringSubmatch(string(readExample(t, "Jenkinsfile")), -1)
	if len(steps) != 3 {
		t.Fatalf("%d steps", len(steps))
	}
	s := newCISite(t)
	for _, step := range steps {
		s.sh("", step[1]+step[2], "JENKINS_URL=http://jenkins", "WORKSPACE_TMP="+s.root, "GIT_PREVIOUS_SUCCESSFUL_COMMIT="+strings.TrimSpace(s.sh("", "git rev-parse HEAD~1")),
			"GIT_COMMIT="+strings.TrimSpace(s.sh("", "git rev-parse HEAD")))
	}
	s.requireVerbs("ci validate", "ci run")
}

// TestExampleOfTheHook pushes to a repository with the hooks, and runs the commands
// of the service.
func TestExampleOfTheHook(t *testing.T) {
	s := newCISite(t)
	s.installHooks()
	watched := regexp.MustCompile(`(?m)^PathChanged=/srv/git/clusters.git/(.*)$`).FindStringSubmatch(string(readExample(t, "hook/deployer-ci.path")))
	if _, err := os.Stat(filepath.Join(s.root, "origin.git", watched[1])); err == nil {
		t.Fatal("the file that starts the service is there before the push")
	}
	if out := s.sh("", "git push origin main 2>&1"); !strings.Contains(out, "remote: lab: nothing") {
		t.Errorf("the push says:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(s.root, "origin.git", watched[1])); err != nil {
		t.Error(err)
	}
	service := string(readExample(t, "hook/deployer-ci.service"))
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/(.*)$`).FindStringSubmatch(service)
	s.sh("", strings.NewReplacer("/srv/git/clusters.git", "../origin.git", "/var/lib/deployer-ci", s.root).Replace(command[1]))
	s.requireVerbs("ci validate", "ci run")
}

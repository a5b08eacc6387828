package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostileSite is a repository that a server offers to everyone, and a service that deploys its
// branch main. An inventory of it has a ProxyCommand, which is executed when a revision is
// deployed or compared.
type hostileSite struct {
	*ciSite
	url        string
	good, evil string // commits of main, and of feature, which was never merged
}

func newHostileSite(t *testing.T, hooks bool) *hostileSite {
	t.Helper()
	s := &hostileSite{ciSite: newCISite(t)}
	if hooks {
		s.installHooks()
	}
	s.url = s.serve()
	s.good = s.commitProxy("main", "good")
	s.sh("", "git checkout -q -b feature")
	s.evil = s.commitProxy("feature", "evil")
	return s
}

// serve starts git daemon for the directory of the site, which accepts pushes of everyone.
func (s *hostileSite) serve() string {
	s.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	if err := free.Close(); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), "git", "daemon", "--listen=127.0.0.1", fmt.Sprintf("--port=%d", address.Port), "--base-path="+s.root, "--export-all", "--enable=receive-pack", "--verbose")
	cmd.Env = s.environ()
	log, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Wait() })
	ready := bufio.NewScanner(log)
	for ready.Scan() {
		if strings.Contains(ready.Text(), "Ready to rumble") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return fmt.Sprintf("git://%s/origin.git", address)
		}
	}
	s.t.Fatal("git daemon has not started")
	return ""
}

// commitProxy commits an inventory whose ProxyCommand writes a word to the file executed, and
// pushes it to a branch.
func (s *hostileSite) commitProxy(branch, word string) string {
	s.t.Helper()
	s.write("work/ssh_config", "Host *\n  ProxyCommand sh -c 'echo "+word+" >> "+s.root+"/executed; exit 1'\n", 0o644)
	s.write("work/inventory.yaml", "cluster: {name: lab}\nhosts: {m1: {address: 10.0.0.1, ssh: {config: ssh_config, password_env: HOME}}}\nroles: {master: m1}\n", 0o644)
	s.sh("", "git add . && git commit -qm "+word+" && git push -q "+s.url+" HEAD:"+branch)
	return strings.TrimSpace(s.sh("", "git rev-parse HEAD"))
}

// push pushes objects to refs, as everyone may, and returns the output and whether it was
// accepted.
func (s *hostileSite) push(specs ...string) (string, bool) {
	s.t.Helper()
	out := s.sh("", "git push "+s.url+" "+strings.Join(specs, " ")+" 2>&1 && echo accepted || echo refused")
	return out, strings.HasSuffix(out, "accepted\n")
}

// forge returns the object of a state.
func (s *hostileSite) forge(state string) string {
	s.t.Helper()
	s.write("state", state, 0o644)
	return strings.TrimSpace(s.sh("", "git hash-object -w ../state"))
}

// service runs a verb of the service, which reads the repository on its disk.
func (s *hostileSite) service(args ...string) string {
	s.t.Helper()
	return s.sh("", "\"$REAL\" ci "+strings.Join(args, " ")+" --repository ../origin.git --state ../cistate 2>&1 || echo \"exit code $?\"",
		"XDG_STATE_HOME="+s.root+"/xdg", "XDG_CACHE_HOME="+s.root+"/cache")
}

// executed returns the words of the ProxyCommands that were executed since the last call.
func (s *hostileSite) executed() string {
	s.t.Helper()
	file := filepath.Join(s.root, "executed")
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	_ = os.Remove(file)
	return string(data)
}

const stateOfInventory = "refs/deployer/state/inventory.yaml"

// TestHostilePusher pushes to a server without hooks every ref that could make the service execute
// a revision that was never merged.
func TestHostilePusher(t *testing.T) {
	s := newHostileSite(t, false)
	forged := map[string]string{
		"verified":  `{"verified":["` + s.evil + `"]}`,
		"deploying": `{"verified":["` + s.good + `"],"deploying":{"from":"` + s.good + `","to":"` + s.evil + `","steps":["deployer apply"],"begun":1,"done":0}}`,
	}
	refuse := func(name, want string) {
		t.Helper()
		for _, verb := range []string{"run", "drift", "rollback"} {
			args := []string{verb}
			if verb != "rollback" {
				args = append(args, "--new main")
			}
			if out := s.service(args...); !strings.Contains(out, want) || !strings.Contains(out, "exit code") {
				t.Errorf("%s, ci %s:\n%s", name, verb, out)
			}
			if executed := s.executed(); executed != "" {
				t.Errorf("%s, ci %s has executed: %s", name, verb, executed)
			}
		}
	}
	for name, state := range forged {
		if out, accepted := s.push(s.forge(state) + ":" + stateOfInventory); !accepted {
			t.Fatal(out)
		}
		refuse("before the first run, "+name, "it has no signature")
		s.push(":" + stateOfInventory)
	}

	// The service begins a deploy, which fails, so that there is an authentic state.
	if out := s.service("run", "--new main"); !strings.Contains(s.executed(), "good") {
		t.Fatalf("the deploy of main:\n%s", out)
	}
	s.sh("", "git fetch -q "+s.url+" "+stateOfInventory+":refs/authentic")
	authentic := strings.TrimSpace(s.sh("", "git rev-parse refs/authentic"))
	for name, state := range forged {
		s.push("-f", s.forge(state)+":"+stateOfInventory)
		refuse(name, "it has no signature")
	}
	text := s.sh("", "git cat-file blob refs/authentic")
	s.push("-f", s.forge(strings.ReplaceAll(text, s.good, s.evil))+":"+stateOfInventory)
	refuse("the commit is changed", "its signature is not valid")
	s.push(":" + stateOfInventory)
	refuse("deleted", "it was deleted")
	s.push("-f", authentic+":"+stateOfInventory)
	if out := s.service("run", "--new main"); strings.Contains(out, "cannot be trusted") || !strings.Contains(s.executed(), "good") {
		t.Errorf("the authentic state:\n%s", out)
	}
	s.push("-f", authentic+":"+stateOfInventory)
	refuse("replayed", "it was set back to the state")
	if out := s.service("state restore inventory.yaml"); !strings.Contains(out, "restored: inventory.yaml") {
		t.Error(out)
	}

	// Names that git takes for the branch, and another commit in the place of the merged one.
	for _, ref := range []string{"refs/tags/main", "refs/remotes/main", "refs/replace/" + s.good} {
		if out, accepted := s.push(s.evil + ":" + ref); !accepted {
			t.Fatal(out)
		}
	}
	for _, verb := range []string{"run", "drift"} {
		out := s.service(verb, "--new main")
		if executed := s.executed(); strings.Contains(executed, "evil") || verb == "run" && !strings.Contains(executed, "good") {
			t.Errorf("ci %s has executed %q\n%s", verb, executed, out)
		}
	}
}

// TestHooksRefuseTheStateOfOthers pushes to a server with the hooks of the examples.
func TestHooksRefuseTheStateOfOthers(t *testing.T) {
	s := newHostileSite(t, true)
	blob := s.forge(`{"verified":["` + s.evil + `"]}`)
	for spec, want := range map[string]string{
		blob + ":" + stateOfInventory:                           "only the service writes " + stateOfInventory,
		blob + ":refs/deployer/state/inventory%2Eyaml":          "only the service writes",
		s.evil + ":refs/deployer/verified/inventory.yaml":       "only the service writes",
		s.evil + ":refs/replace/" + s.good:                      "another object in the place of one that was reviewed",
		s.evil + ":refs/tags/v1 " + blob + ":refs/deployer/any": "only the service writes refs/deployer/any",
	} {
		out, accepted := s.push(spec)
		if accepted || !strings.Contains(out, "remote: deployer: the push is refused: ") || !strings.Contains(out, want) {
			t.Errorf("%s, want %q:\n%s", spec, want, out)
		}
	}
	if out, accepted := s.push(s.evil + ":refs/heads/other"); !accepted {
		t.Error(out)
	}
	s.sh("", "git -C ../origin.git config deployer.stateRepository clusters")
	s.service("run", "--new main")
	if executed := s.executed(); !strings.Contains(executed, "good") {
		t.Fatalf("executed %q", executed)
	}
	if out, accepted := s.push(":" + stateOfInventory); accepted {
		t.Errorf("the state was deleted: %s", out)
	}

	// A runner elsewhere keeps the state in the repository, whose configuration has its public key.
	s.sh("", "git remote set-url origin "+s.url+" && git checkout -q main && git fetch -q origin")
	s.write("work/deployer.ci.yaml", "remote: origin\n", 0o644)
	s.sh("", "git add . && git commit -qm remote && git push -q origin main")
	name := "elsewhere"
	runner := func() string {
		return s.sh("", "\"$REAL\" ci run --new main --state ../runnerstate 2>&1 || echo \"exit code $?\"", "DEPLOYER_CI_STATE_REPOSITORY="+name, "XDG_STATE_HOME="+s.root+"/xdg2", "XDG_CACHE_HOME="+s.root+"/cache")
	}
	if out := runner(); !strings.Contains(out, `it is the state of the repository "clusters", and this is "elsewhere"`) || s.executed() != "" {
		t.Errorf("with another name of the repository:\n%s", out)
	}
	name = "clusters"
	if out := runner(); !strings.Contains(out, "needs the permission to push") || !strings.Contains(out, "only the service writes") {
		t.Errorf("without the public key:\n%s", out)
	}
	s.sh("", "git -C ../origin.git config --add deployer.stateKey \"$(\"$REAL\" ci state public-key)\"")
	if out := runner(); strings.Contains(out, "only the service writes") || !strings.Contains(s.executed(), "good") {
		t.Errorf("with the public key:\n%s", out)
	}
}

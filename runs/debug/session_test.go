package debug

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeCtr is a ctr whose images and containers are files of a directory. Its
// containers run their command on this machine; "sleep" runs until it is killed.
// fakeCtr warns as the real ctr does.
const fakeCtr = `#!/bin/sh
dir=%DIR%
shift 2 # --namespace deployer-debug
echo "$*" >>"$dir/log"
[ "$1" = run ] || echo "level=warning" >&2
case "$1 $2" in
"images ls") cat "$dir/images" ;;
"images import") echo "deployer.local/debug:1 type sha256:new" >"$dir/images" ;;
"images rm") : >"$dir/images" ;;
"containers ls") ls "$dir/containers" ;;
"containers rm") rm -f "$dir/containers/$3" ;;
"tasks kill") [ ! -s "$dir/containers/$5" ] || kill -9 "$(cat "$dir/containers/$5")" ;;
"run --rm")
  until [ "$1" = deployer.local/debug:1 ]; do shift; done
  session=$2
  shift 2
  echo $$ >"$dir/containers/$session"
  exec "$@" ;;
esac
`

// site is a host with the fake ctr.
type site struct {
	t       *testing.T
	dir     string
	session Session
}

func newSite(t *testing.T) site {
	t.Helper()
	s := site{t, t.TempDir(), Session{Name: "debug-0123456789ab", Image: Image{Name: "deployer.local/debug:1"}}}
	for _, dir := range []string{"containers", "state"} {
		if err := os.Mkdir(filepath.Join(s.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.write("images", "", 0o644)
	s.write("ctr", strings.ReplaceAll(fakeCtr, "%DIR%", s.dir), 0o755)
	return s
}

func (s site) write(name, content string, mode os.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), mode); err != nil {
		s.t.Fatal(err)
	}
}

// command returns a shell that runs lines of a session on the site.
func (s site) command(lines string) *exec.Cmd {
	lines = strings.NewReplacer("/var/lib/deployer/debug", filepath.Join(s.dir, "state"), "/usr/local/bin/ctr", filepath.Join(s.dir, "ctr")).Replace(lines)
	return exec.CommandContext(s.t.Context(), "sh", "-c", lines, "deployer")
}

func (s site) run(lines string) string {
	s.t.Helper()
	cmd := s.command(lines)
	in, err := cmd.StdinPipe() // which stays open, as a connection does
	if err != nil {
		s.t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%v: %s", err, out)
	}
	return string(out)
}

// left returns what a session has left on the site.
func (s site) left() string {
	var out []string
	for _, pattern := range []string{"containers/*", "state/*"} {
		found, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, found...)
	}
	images, err := os.ReadFile(filepath.Join(s.dir, "images"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(out, " ") + string(images)
}

func (s site) prepare() string { return s.run(s.session.script("sha256:new", "", "prepare")) }

// TestSession runs a command on a host that lacks the image, and checks that nothing is left.
func TestSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if got := s.prepare(); got != "missing\n" {
		t.Errorf("the image is %q", got)
	}
	s.write("state/"+s.session.Name+".tar", "image", 0o600)
	if got := s.run(s.session.Command([]string{"echo", "a b", "$HOME"})); got != "a b $HOME\n" {
		t.Errorf("the command printed %q", got)
	}
	if left := s.left(); left != "" {
		t.Errorf("left: %s", left)
	}
	cmd := s.command(s.session.Command([]string{"exit 7"}))
	cmd.Stdin = neverEnds(t)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("the exit code of the command is lost: %v", err)
	}
}

// neverEnds is an input without an end.
func neverEnds(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r
}

// TestKeptImage: the image stays when the session keeps it, or when it was there before.
func TestKeptImage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.session.KeepImage = true
	s.prepare()
	s.write("state/"+s.session.Name+".tar", "image", 0o600)
	s.run(s.session.Command([]string{"true"}))
	if left := s.left(); !strings.HasPrefix(left, "deployer.local/debug:1 ") {
		t.Errorf("left: %q, want the image alone", left)
	}
	s.session.KeepImage = false
	if got := s.prepare(); got != "present\n" {
		t.Errorf("the image is %q", got)
	}
	s.run(s.session.Command([]string{"true"}))
	if left := s.left(); !strings.HasPrefix(left, "deployer.local/debug:1 ") {
		t.Errorf("left: %q, want the image alone", left)
	}
}

// TestLostConnection ends the input of a session, as a killed deployer does, and
// sends the signal of a closed terminal.
func TestLostConnection(t *testing.T) {
	// A signal that this process ignores, as under nohup, would be ignored by the script, too.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) }) // after the tests below
	t.Parallel()
	for name, lose := range map[string]func(*exec.Cmd, io.Closer){
		"end of input": func(_ *exec.Cmd, in io.Closer) { _ = in.Close() },
		"hangup":       func(cmd *exec.Cmd, _ io.Closer) { _ = cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.prepare()
			s.write("state/"+s.session.Name+".tar", "image", 0o600)
			cmd := s.command(s.session.Command([]string{"sleep", "1000"}))
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s.awaitContainer()
			_ = stderr.Close()
			lose(cmd, in)
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("the session does not end")
			}
			if left := s.left(); left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}

func (s site) awaitContainer() {
	s.t.Helper()
	for range 1000 {
		if content, err := os.ReadFile(filepath.Join(s.dir, "containers", s.session.Name)); err == nil && len(content) > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("the container does not start")
}

// TestKilledSessionIsRemoved kills the script of a session; the next session removes its
// container, but not that of a session that runs.
func TestKilledSessionIsRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	start := func(name string) *exec.Cmd {
		other := s
		other.session.Name = name
		other.prepare()
		cmd := other.command(other.session.Command([]string{"sleep", "1000"}))
		cmd.Stdin = neverEnds(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		other.awaitContainer()
		return cmd
	}
	killed, running := start("debug-killed"), start("debug-running")
	_ = killed.Process.Kill()
	_ = killed.Wait()
	s.prepare()
	if left := s.left(); strings.Contains(left, "debug-killed") || !strings.Contains(left, "containers/debug-running") {
		t.Errorf("left: %s", left)
	}
	_ = running.Process.Signal(syscall.SIGTERM)
	_ = running.Wait()
	if left := s.left(); strings.Contains(left, "debug-running") {
		t.Errorf("left: %s", left)
	}
	s.run(s.session.Clean())
	if left := s.left(); left != "" {
		t.Errorf("left: %s", left)
	}
}

// TestPlaybook checks that the lines of the host survive the playbook.
func TestPlaybook(t *testing.T) {
	t.Parallel()
	s := Session{Name: "debug-x", Image: Image{Name: "deployer.local/debug:1", Archives: map[string]Archive{"amd64": {Path: "/a b.tar", Digest: "sha256:1"}}}}
	b, err := s.Playbook()
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Tree.FS.Open(b.File)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`facts.arch == "amd64"`, "/a b.tar", "digest=sha256:1", "/var/lib/deployer/debug/debug-x.tar"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the playbook lacks %s:\n%s", want, text)
		}
	}
}

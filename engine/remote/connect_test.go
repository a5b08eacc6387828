package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/transport"
	"deployer/engine/transport/local"
	"deployer/engine/transport/ssh"
	"deployer/engine/transport/sshtest"
)

// shims are scripts that replace programs of the host, by name.
type shims map[string]string

const fakeID = `#!/bin/sh
case $1 in -u) if [ -n "$FAKE_ROOT" ]; then echo 0; else echo 1000; fi;; *) echo ops;; esac
`

// fakeSudo behaves as sudo does with the options that the probe gives it.
const fakeSudo = `#!/bin/sh
while :; do case $1 in -n) n=1;; -S) ;; -p) prompt=$2; shift;; *) break;; esac; shift; done
[ "$LC_ALL" = C ] || { echo "sudo: desol'e" >&2; exit 1; }
[ -n "$FAKE_REQUIRETTY" ] && { [ -t 0 ] || { echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1; }; }
[ -n "$FAKE_LECTURE" ] && printf "We trust you:\n\n    #1) Respect the privacy of others.\n\n" >&2
for i in $(seq 1 ${FAKE_LECTURE_LINES:-0}); do echo "#$i) With great power comes great responsibility, and this is one of many lines." >&2; done
export FAKE_ROOT=1
[ -n "$FAKE_NOPASSWD" ] && exec "$@"
[ -n "$n" ] && { echo "sudo: a password is required" >&2; exit 1; }
for i in 1 2 3; do
	echo tried >>"$HOME/tries"
	printf %s "$prompt" >&2
	IFS= read -r p || { echo "sudo: no password was provided" >&2; exit 1; }
	[ -n "$FAKE_FORBIDDEN" ] && { echo "Sorry, user ops is not allowed to execute '$*' as root on m1." >&2; exit 1; }
	[ "$p" = right ] && exec "$@"
	echo "Sorry, try again." >&2
done
exit 1
`

// fakeSu asks for the password on the terminal, with a prompt that the controller
// cannot know.
const fakeSu = `#!/bin/sh
[ "$1 $2 $3 $5" = "-s /bin/sh -c root" ] || { echo "su: usage" >&2; exit 1; }
[ -t 0 ] || { echo "su: must be run from a terminal" >&2; exit 1; }
cmd=$4; shift 5
printf "Mot de passe : " >/dev/tty
IFS= read -r p </dev/tty
echo >/dev/tty
[ "$p" = right ] || { echo "su: Authentication failure" >&2; exit 1; }
export FAKE_ROOT=1
exec /bin/sh -c "$cmd" "$@"
`

const fakeDoas = `#!/bin/sh
[ "$1" = -n ] && { n=1; shift; }
export FAKE_ROOT=1
[ -n "$FAKE_NOPASSWD" ] && exec "$@"
[ -n "$FAKE_FORBIDDEN" ] && { echo "doas: Operation not permitted" >&2; exit 1; }
[ -n "$n" ] && { echo "doas: Authentication required" >&2; exit 1; }
printf "\rdoas (ops@m1) password: " >/dev/tty || exit 1
IFS= read -r p </dev/tty
echo >/dev/tty
[ "$p" = right ] && exec "$@"
echo "doas: Authentication failed" >&2
exit 1
`

// testHost is a made-up host behind a real SSH server.
type testHost struct {
	dir    string // Options.Dir
	server *sshtest.Server
	target ssh.Target
	dialer *ssh.Dialer
	events *agenttest.Events
	blobs  *agenttest.Blobs
}

// tools are all programs of a host that the probe may use.
var tools = []string{"sh", "id", "uname", "mkdir", "chmod", "rm", "mv", "cat", "gzip", "sha256sum", "head", "df", "ls", "stty", "true", "seq"}

// newTestHost starts a host whose PATH has the tools, some of them replaced; a tool
// that is replaced by nothing is missing.
func newTestHost(t testing.TB, noise string, programs shims, env ...string) *testHost {
	t.Helper()
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range tools {
		real, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(real, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, script := range programs {
		_ = os.Remove(filepath.Join(bin, name))
		if script == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env = append([]string{"HOME=" + home, "PATH=" + bin, "GOCOVERDIR=" + t.TempDir()}, env...)
	server, err := sshtest.Start(sshtest.Config{MaxSessions: 1, Exec: func(ctx context.Context, c sshtest.Command) int {
		c.Line = noise + c.Line
		return sshtest.RunShell(ctx, c, env)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	key := filepath.Join(home, "key")
	writeKey(t, key)
	h := &testHost{dir: filepath.Join(home, "dep"), server: server, events: &agenttest.Events{}, blobs: &agenttest.Blobs{}, dialer: ssh.NewDialer(ssh.Options{})}
	host, port := splitPort(t, server.Addr)
	h.target = ssh.Target{Host: "m1", Address: host, Port: port, HostKeys: ssh.AcceptNew,
		KnownHosts: []string{filepath.Join(home, "known")}, Keys: []string{key}}
	t.Cleanup(func() { _ = h.dialer.Close() })
	return h
}

// install stores the agent on the host, so that it need not be sent.
func (h *testHost) install(t testing.TB) {
	t.Helper()
	dir := filepath.Join(h.dir, "agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ownBinaries().digest(runtime.GOARCH)), data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (h *testHost) connect(t testing.TB, change func(*Options)) (*Session, error) {
	t.Helper()
	conn, err := h.dialer.Dial(t.Context(), h.target)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Host: "m1", Binaries: ownBinaries(), Sink: h.events, Dir: h.dir, Blobs: h.blobs}
	if change != nil {
		change(&opts)
	}
	s, err := Connect(t.Context(), conn, opts)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// works runs a step in the session.
func works(t testing.TB, s *Session) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f")
	result, err := agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "a", "write", agenttest.Write{Path: file, Content: "hello"}), false)
	if err != nil || result.Status != engine.StatusChanged {
		t.Fatalf("got %+v, %v", result, err)
	}
	if got, err := os.ReadFile(file); string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	if s.Facts().Arch != runtime.GOARCH {
		t.Fatalf("facts: %+v", s.Facts())
	}
}

func TestAgentIsSentOnce(t *testing.T) {
	h := newTestHost(t, "", nil)
	for i, sent := range []bool{true, false} {
		s, err := h.connect(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		works(t, s)
		_ = s.Close()
		up := h.events.Of(engine.EventHostUp)
		if len(up) != i+1 || strings.Contains(up[i].Text, "agent sent") != sent {
			t.Errorf("connection %d: %+v", i, up)
		}
	}
	programs, _ := filepath.Glob(h.dir + "/agent/*")
	if len(programs) != 1 || filepath.Base(programs[0]) != ownBinaries().digest(runtime.GOARCH) {
		t.Errorf("on the host: %v", programs)
	}
}

// noVarTmp keeps the tests out of the machine's own directories.
const noVarTmp = `#!/bin/sh
case "$*" in */var/tmp/*|*/dev/shm/*) exit 1;; esac
exec /bin/mkdir "$@"
`

const rightPassword = "right"

func TestOddHostsWork(t *testing.T) {
	const noexec = `#!/bin/sh
case "$*" in *"/dep/agent/.try"*) exec /bin/chmod 600 "$2";; esac
exec /bin/chmod "$@"
`
	const fullDep = `#!/bin/sh
case "$*" in *"/dep/agent") ;; *) exec /bin/df "$@";; esac
echo Filesystem 1024-blocks Used Available Capacity Mounted on
echo /dev/x 9000 8000 1000 89% /
`
	by := func(b Become) func(*Options) { return func(o *Options) { o.Become, o.Password = b, rightPassword } }
	bySudo := func(o *Options) { o.Become = Sudo }
	byPassword := func(o *Options) { o.Become, o.Password = Sudo, rightPassword }
	for name, tt := range map[string]struct {
		noise    string
		programs shims
		env      []string
		options  func(*Options)
		dir      string // where the agent must be below the home directory, dep when empty
		has      bool   // the agent from the start
	}{
		"noisy start-up files":                     {noise: `printf "Welcome!\n\033[1mno newline, and garbage \000\377"; echo oops >&2; `},
		"no gzip":                                  {programs: shims{"gzip": ""}},
		"no sha256sum":                             {programs: shims{"sha256sum": ""}},
		"the directory is noexec":                  {programs: shims{"chmod": noexec, "id": fakeID, "mkdir": noVarTmp}, dir: ".deployer"},
		"the directory cannot be made":             {programs: shims{"id": fakeID, "mkdir": noVarTmp}, dir: ".deployer", options: func(o *Options) { o.Dir = "/proc/none" }},
		"sudo without a password":                  {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_NOPASSWD=1"}, options: bySudo},
		"sudo with a password":                     {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, options: byPassword},
		"a password that sudo does not prompt for": {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_NOPASSWD=1"}, options: byPassword},
		"sudo on a terminal":                       {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_NOPASSWD=1", "FAKE_REQUIRETTY=1"}, options: bySudo},
		"sudo with requiretty and a lecture":       {programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_REQUIRETTY=1", "FAKE_LECTURE=1"}, options: byPassword},
		"sudo on a terminal with a long lecture":   {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_REQUIRETTY=1", "FAKE_LECTURE_LINES=1000"}, options: byPassword},
		"sudo with a long lecture":                 {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_LECTURE_LINES=1000"}, options: byPassword},
		"sudo in a locale":                         {has: true, programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"LC_ALL=fr_FR.UTF-8"}, options: byPassword},
		"su":                                       {programs: shims{"id": fakeID, "su": fakeSu}, options: by(Su)},
		"doas without a password":                  {has: true, programs: shims{"id": fakeID, "doas": fakeDoas}, env: []string{"FAKE_NOPASSWD=1"}, options: func(o *Options) { o.Become = Doas }},
		"doas with a password":                     {has: true, programs: shims{"id": fakeID, "doas": fakeDoas}, options: by(Doas)},
		"a password that doas does not prompt for": {has: true, programs: shims{"id": fakeID, "doas": fakeDoas}, env: []string{"FAKE_NOPASSWD=1"}, options: by(Doas)},
		"no home directory":                        {has: true, env: []string{"HOME="}},
		"no space in the directory":                {programs: shims{"id": fakeID, "df": fullDep, "mkdir": noVarTmp}, dir: ".deployer"},
		"a password that root does not need":       {has: true, programs: shims{"id": fakeID}, env: []string{"FAKE_ROOT=1"}, options: byPassword},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHost(t, tt.noise, tt.programs, tt.env...)
			if tt.has {
				h.install(t)
			}
			for range 2 { // the second time with the agent in place
				s, err := h.connect(t, tt.options)
				if err != nil {
					t.Fatal(err)
				}
				works(t, s)
				_ = s.Close()
			}
			dir := cmp.Or(tt.dir, "dep")
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(h.dir), dir, "agent", "*")); len(found) != 1 {
				t.Errorf("in %s: %v", dir, found)
			}
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(h.dir), dir, "runs", "r1", "journal.jsonl")); len(found) != 1 {
				t.Errorf("no journal in %s", dir)
			}
		})
	}
}

func TestHostsThatCannotWorkSayWhy(t *testing.T) {
	wrong := func(b Become) func(*Options) {
		return func(o *Options) { o.Become, o.Password = b, "wrong" }
	}
	without := func(b Become) func(*Options) { return func(o *Options) { o.Become = b } }
	for name, tt := range map[string]struct {
		programs shims
		env      []string
		noise    string
		options  func(*Options)
		kind     transport.Kind
		text     string
	}{
		"sudo prompts for a password, none is given": {programs: shims{"id": fakeID, "sudo": fakeSudo}, options: without(Sudo),
			kind: transport.BecomePassword, text: "become: sudo wants a password for the user (uid 1000): sudo: a password is required; set ssh.become_password_env"},
		"sudo refuses the password": {programs: shims{"id": fakeID, "sudo": fakeSudo}, options: wrong(Sudo),
			kind: transport.BecomePassword, text: "become: sudo refused the password: Sorry, try again.; check the password"},
		"sudo refuses the password, on a terminal": {programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_REQUIRETTY=1"}, options: wrong(Sudo),
			kind: transport.BecomePassword, text: "become: sudo refused the password: Sorry, try again.; check the password"},
		"sudo is not allowed": {programs: shims{"id": fakeID, "sudo": "#!/bin/sh\necho ops is not in the sudoers file >&2; exit 1\n"}, options: without(Sudo),
			kind: transport.Config, text: "sudo does not permit the user (uid 1000) to become root: ops is not in the sudoers file; let the user run all commands"},
		"sudo is not allowed, after the password": {programs: shims{"id": fakeID, "sudo": fakeSudo}, env: []string{"FAKE_FORBIDDEN=1"}, options: wrong(Sudo),
			kind: transport.Config, text: "to become root: Sorry, user ops is not allowed; let the user run all commands"},
		"sudo changes to another user than root": {programs: shims{"id": fakeID, "sudo": "#!/bin/sh\nshift; exec \"$@\"\n"}, options: without(Sudo),
			kind: transport.Config, text: "sudo became the user with uid 1000, not root"},
		"sudo is missing": {programs: shims{"id": fakeID}, options: without(Sudo),
			kind: transport.Config, text: "there is no sudo on the host; install it there"},
		"su refuses the password": {programs: shims{"id": fakeID, "su": fakeSu}, options: wrong(Su),
			kind: transport.BecomePassword, text: "become: su refused the password: Mot de passe : su: Authentication failure; check the password"},
		"su prompts for a password, none is given": {programs: shims{"id": fakeID, "su": fakeSu}, options: without(Su),
			kind: transport.BecomePassword, text: "su wants a password for the user (uid 1000): Mot de passe :"},
		"doas prompts for a password, none is given": {programs: shims{"id": fakeID, "doas": fakeDoas}, options: without(Doas),
			kind: transport.BecomePassword, text: "doas wants a password for the user (uid 1000): doas: Authentication required"},
		"doas refuses the password": {programs: shims{"id": fakeID, "doas": fakeDoas}, options: wrong(Doas),
			kind: transport.BecomePassword, text: "doas refused the password"},
		"doas is not allowed": {programs: shims{"id": fakeID, "doas": fakeDoas}, env: []string{"FAKE_FORBIDDEN=1"}, options: wrong(Doas),
			kind: transport.Config, text: "permit the user to run all commands as root in the host's doas.conf"},
		"nologin": {noise: "echo This account is currently not available.; exit 1; ", kind: transport.Config,
			text: "the host did not answer the probe: the command has exited: This account is currently not available.; check that the user's login shell"},
		"no space in any directory": {programs: shims{"id": fakeID, "mkdir": noVarTmp, "df": "#!/bin/sh\nprintf 'a\\nb 1 2 300 4\\n'\n"},
			kind: transport.Config, text: "/dep/agent has only 300 KiB free of the 30000 that are needed; /"},
		"unknown architecture": {programs: shims{"uname": "#!/bin/sh\necho Linux riscv64\n"},
			kind: transport.Config, text: "no agent for Linux riscv64"},
		"unknown operating system": {programs: shims{"uname": "#!/bin/sh\necho FreeBSD amd64\n"},
			kind: transport.Config, text: "no agent for FreeBSD amd64"},
		"no writable directory": {programs: shims{"id": fakeID, "mkdir": "#!/bin/sh\nexit 1\n"},
			kind: transport.Config, text: "/dep/agent cannot be made; /var/tmp/deployer-1000/agent cannot be made"},
		"the disk is full": {programs: shims{"gzip": "#!/bin/sh\necho gzip: stdout: No space left on device >&2; exit 1\n"},
			kind: transport.Config, text: "writing the agent to"},
		"the agent arrives damaged": {programs: shims{"gzip": "#!/bin/sh\n/bin/gzip \"$@\"; echo more\n"},
			kind: transport.Lost, text: "the agent arrived damaged: its SHA-256 is"},
		"the agent cannot be executed": {programs: shims{"chmod": "#!/bin/sh\ncase $2 in */.new*) exec /bin/chmod 600 \"$2\";; esac\nexec /bin/chmod \"$@\"\n"},
			kind: transport.Config, text: "starting the agent: it exited before its banner"},
		"a shell that hangs": {noise: "exec /bin/sleep 5; ", options: func(o *Options) { o.Timeout = 200 * time.Millisecond },
			kind: transport.Timeout, text: "within 200ms"},
		"endless output before the probe": {noise: "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done; ",
			kind: transport.Config, text: "start-up files"},
		"invalid directory": {options: func(o *Options) { o.Dir = "/x'y" }, kind: transport.Config, text: "contains a quote"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHost(t, tt.noise, tt.programs, tt.env...)
			s, err := h.connect(t, tt.options)
			var e *transport.Error
			if !errors.As(err, &e) || s != nil {
				t.Fatalf("got %v, %v", s, err)
			}
			if e.Kind != tt.kind || !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), "m1: ") {
				t.Errorf("got %s: %v\nwant %s with %q", e.Kind, err, tt.kind, tt.text)
			}
			// More attempts with a wrong password than one could lock an account.
			if tries, _ := os.ReadFile(filepath.Join(filepath.Dir(h.dir), "tries")); len(tries) > 2*len("tried\n") {
				t.Errorf("tries: %q", tries)
			}
			// An agent that hangs leaves its file, which the next agent removes.
			if left, _ := filepath.Glob(h.dir + "/agent/.*"); len(left) > 0 && tt.kind != transport.Timeout {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestFramesOverATerminalAreSafe: when the frames go over a terminal, no program can
// access the terminal, and its end ends the session.
func TestFramesOverATerminalAreSafe(t *testing.T) {
	h := newTestHost(t, "", shims{"id": fakeID, "su": fakeSu})
	s, err := h.connect(t, func(o *Options) { o.Become, o.Password = Su, rightPassword })
	if err != nil {
		t.Fatal(err)
	}
	r, err := agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "run", Text: "echo hijacked >/dev/tty"}), false)
	if err != nil || r.Output["exit"] == 0.0 || strings.Contains(fmt.Sprint(r.Output), "right") {
		t.Fatalf("got %+v, %v", r, err)
	}
	long := strings.Repeat("\x00\x03\x04\x11\x13\r\n\xff", 100_000)
	digest := h.blobs.Add(t, []byte(long))
	if r, err = agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "b", "fetch", agenttest.Fetch{Digest: digest}), false); err != nil || r.Output["read"] != float64(len(long)) {
		t.Fatalf("got %+v, %v", r, err)
	}
	h.server.Cut()
	if _, err = agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "c", "odd", agenttest.Odd{Do: "nothing"}), false); transport.KindOf(err) != transport.Lost {
		t.Fatalf("got %v", err)
	}
	ends(t, s)
}

// ends waits until the agent of a session has ended.
func ends(t *testing.T, s *Session) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for syscall.Kill(s.pid, 0) == nil {
		if time.Now().After(deadline) {
			t.Fatal("the agent lives on")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestBrokenProgramIsSentAnew: an agent file with the right name that does not start
// is replaced.
func TestBrokenProgramIsSentAnew(t *testing.T) {
	h := newTestHost(t, "", nil)
	s, err := h.connect(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	programs, _ := filepath.Glob(h.dir + "/agent/*")
	if err := os.WriteFile(programs[0]+".x", []byte("broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(programs[0]+".x", programs[0]); err != nil {
		t.Fatal(err)
	}
	if s, err = h.connect(t, nil); err != nil {
		t.Fatal(err)
	}
	works(t, s)
}

func TestOverTheLocalTransport(t *testing.T) {
	t.Setenv("GOCOVERDIR", t.TempDir())
	opts := Options{Host: "here", Binaries: ownBinaries(), Dir: filepath.Join(t.TempDir(), "dep")}
	s, err := Connect(t.Context(), local.New("here"), opts)
	if err != nil {
		t.Fatal(err)
	}
	works(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLossesOverSSH: a cut SSH connection and a killed agent are losses that may be
// retried, and the next connection works.
func TestLossesOverSSH(t *testing.T) {
	h := newTestHost(t, "", nil)
	for name, hurt := range map[string]func(s *Session){
		"cut":  func(*Session) { h.server.Cut() },
		"kill": func(s *Session) { _ = syscall.Kill(s.pid, syscall.SIGKILL) },
	} {
		s, err := h.connect(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		hurt(s)
		err = s.Run(t.Context(), engine.Segment{Run: "r1", Steps: []engine.Step{agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", For: time.Minute, Text: "/dev/null"})}}, func(engine.Result) {})
		var lost *transport.Error
		if !errors.As(err, &lost) || lost.Kind != transport.Lost || !lost.Retryable() || lost.Host != "m1" {
			t.Errorf("%s: got %v", name, err)
		}
		_ = s.Close()
	}
	s, err := h.connect(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	works(t, s)
}

// TestHungNetworkEndsBothEnds: on a hung network both ends end the session; a long
// step does not.
func TestHungNetworkEndsBothEnds(t *testing.T) {
	h := newTestHost(t, "", nil)
	s, err := h.connect(t, func(o *Options) { o.Heartbeat, o.IdleTimeout = 100*time.Millisecond, 1500*time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	result, err := agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", For: 2 * time.Second, Text: file}), false)
	if err != nil || result.Status != engine.StatusChanged {
		t.Fatalf("a long step: %+v, %v", result, err)
	}
	h.server.Freeze(true)
	defer h.server.Freeze(false)
	_, err = agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "nothing"}), false)
	if transport.KindOf(err) != transport.Lost || !strings.Contains(err.Error(), "nothing was received") {
		t.Fatalf("got %v", err)
	}
	ends(t, s)
}

func TestDialThroughTheSession(t *testing.T) {
	h := newTestHost(t, "", nil)
	s, err := h.connect(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Dial(t.Context(), "tcp", h.server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 4)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "SSH-" {
		t.Fatalf("got %q, %v", buf, err)
	}
}

// TestProbeIsPlainToEveryShell: all login shells read the command line of the probe
// in the same way.
func TestProbeIsPlainToEveryShell(t *testing.T) {
	line := probeCommand("deployer-x", "sudo-password", ownBinaries(), "/var/x", true)
	for _, bad := range []string{"!", "\n", `\\`, `\'`} {
		if strings.Contains(line, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	for _, script := range []string{outerScript, innerScript} {
		if strings.Contains(script, "'") {
			t.Errorf("a quote in %s", script)
		}
	}
}

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/remote"
	"deployer/engine/remote/remotetest"
)

// alter is a module that changes one path, or a knob, after a backup.
type alter struct {
	Op, Path, Content string
	Secret            bool
}

func (a *alter) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: a.Path, Action: a.Op, Secret: a.Secret}), nil
}

func (a *alter) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	p := sys.Path(a.Path)
	if a.Op == "turn" {
		now, err := lookKnob(ctx, sys, a.Path)
		if err == nil {
			err = sys.BackupState("alter", a.Path, now)
		}
		if err != nil {
			return nil, err
		}
		return nil, writeKnob(sys, a.Path, engine.State{"turned": a.Content, "colour": now["colour"]})
	}
	if a.Op == "lose" {
		return nil, sys.MarkIrreversible(a.Path, "it is gone for good")
	}
	if a.Op == "bare" {
		return nil, nil
	}
	if a.Op == "regenerate" {
		return nil, errors.Join(sys.BackupRegenerated(a.Path), os.Remove(p))
	}
	if err := sys.Backup(a.Path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return nil, err
	}
	info, err := os.Lstat(p)
	isDir := err == nil && info.IsDir()
	switch a.Op {
	case "write":
		if isDir {
			return nil, nil
		}
		temp := p + ".new"
		return nil, errors.Join(os.WriteFile(temp, []byte(a.Content), 0o640), os.Rename(temp, p))
	case "link":
		if isDir {
			return nil, nil
		}
		_ = os.Remove(p)
		return nil, os.Symlink(a.Content, p)
	case "mkdir":
		if err == nil {
			return nil, nil
		}
		return nil, os.Mkdir(p, 0o700)
	case "remove":
		_ = os.Remove(p) // a directory with something in it stays
		return nil, nil
	case "chmod":
		if err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return nil, os.Chmod(p, 0o711)
		}
		return nil, nil
	}
	return nil, fmt.Errorf("cannot %q", a.Op)
}

// knobPath returns the path of the state of a knob. The agent does not treat a knob
// as a file: its state is below /proc.
func knobPath(sys engine.System, name string) string { return sys.Path("/proc/knobs/" + name) }

func lookKnob(_ context.Context, sys engine.System, name string) (engine.State, error) {
	raw, err := os.ReadFile(knobPath(sys, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var s engine.State
	return s, errors.Join(err, json.Unmarshal(raw, &s))
}

func writeKnob(sys engine.System, name string, s engine.State) error {
	if s == nil {
		return os.Remove(knobPath(sys, name))
	}
	raw, err := json.Marshal(s)
	return errors.Join(err, os.MkdirAll(filepath.Dir(knobPath(sys, name)), 0o755), os.WriteFile(knobPath(sys, name), raw, 0o600))
}

var knobs = &engine.Restorer{
	Effect: engine.EffectUnit, Read: lookKnob,
	Restore: func(_ context.Context, sys engine.System, name string, _, to engine.State) error {
		if to["turned"] == "stuck" {
			return &engine.IrreversibleError{Reason: "it is stuck"}
		}
		return writeKnob(sys, name, to)
	},
	Irreversible: func(_ context.Context, _ engine.System, _ string, _, to engine.State) (string, error) {
		if to["turned"] == "rusty" {
			return "it is rusty", nil
		}
		return "", nil
	},
	EquivalentToAbsent: func(s engine.State) bool { return s["turned"] == "off" },
	NeedsFilesFirst:    func(to engine.State) bool { return to["turned"] == "late" },

	ReloadsOn: func(path string) bool { return path == "/table" },
	Remainder: "its screws stay",
}

// history is a host with runs whose steps can be reverted.
type history struct {
	*testHost
	t     *testing.T
	steps int
}

func newHistory(t *testing.T) *history { return &history{testHost: newTestHost(t, nil), t: t} }

// reconnect ends the session and begins another one, as after a crash.
func (h *history) reconnect() {
	h.t.Helper()
	_ = h.Close()
	here, there := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = Serve(context.Background(), there, there, testRegistry(), ServeOptions{Root: h.root})
		_ = there.Close()
	}()
	s, err := remotetest.Attach(h.t.Context(), here, remote.Options{Host: "m1", Sink: h.events})
	if err != nil {
		h.t.Fatal(err)
	}
	h.Session = s
	h.t.Cleanup(func() {
		_ = s.Close()
		<-ended // the agent writes to its state directory, which is removed next
	})
}

// in executes one step in a run.
func (h *history) in(run string, s engine.Step, check bool) engine.Result {
	h.t.Helper()
	r, err := agenttest.RunOne(h.t.Context(), h.Session, run, s, check)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// does executes an alteration as the next step of a run.
func (h *history) does(run, op, path, content string) {
	h.t.Helper()
	h.steps++
	if r := h.in(run, agenttest.Step(h.t, fmt.Sprintf("1.play.%d", h.steps), "alter", alter{Op: op, Path: path, Content: content}), false); r.Failure != nil {
		h.t.Fatalf("%s %s: %v", op, path, r.Failure)
	}
}

// reverts executes one step of a revert.
func (h *history) reverts(run string, v engine.Revert) engine.Result {
	h.t.Helper()
	return h.in(run, agenttest.Step(h.t, v.ID(), engine.RevertModule, v), v.Preview)
}

// looks returns the history of a run.
func (h *history) looks(run string) engine.RunHistory {
	h.t.Helper()
	r := h.reverts("look", engine.Revert{Run: run, Preview: true})
	raw, _ := json.Marshal(r.Output)
	var p engine.RunHistory
	if err := json.Unmarshal(raw, &p); err != nil || r.Failure != nil {
		h.t.Fatalf("%v, %v", err, r.Failure)
	}
	return p
}

// tree describes all files on the host except the agent's state.
func (h *history) tree() map[string]string {
	h.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(h.root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, h.root)
		switch {
		case err != nil:
			return err
		case name == DefaultStateDir || name == "/var" || name == "/proc" || name == "/proc/knobs" || name == "/var/lib":
			if name == DefaultStateDir {
				return fs.SkipDir
			}
			return nil
		}
		out[name], err = describe(path)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// describe returns type, mode, owner and content of a file, or the target of a link.
func describe(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	out := fmt.Sprint(info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return out + to, err
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return out + string(content), err
	}
	return out, nil
}

func fates(p engine.RunHistory) []string {
	var out []string
	for _, it := range p.Items {
		out = append(out, it.Name+": "+string(it.State)+" "+it.Reason)
	}
	slices.Sort(out)
	return out
}

// TestRevertRestores is a property test. A run consists of random small steps. The
// revert of each step, the last first, each in a session of its own, restores the
// tree from before the run, also when the agent died in each step of the run. The
// revert of the revert restores the tree from after the run.
func TestRevertRestores(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // what is kept is written through to the disk
	}
	ops := []string{"write", "write", "link", "mkdir", "remove", "chmod", "turn"}
	paths := []string{"/a", "/b", "/d", "/d/x", "/d/e/y", "/f/g/h"}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			h := newHistory(t)
			run := func(name string) {
				for range 1 + rnd.IntN(8) {
					op, path := ops[rnd.IntN(len(ops))], paths[rnd.IntN(len(paths))]
					if op == "turn" {
						path = filepath.Base(path)
					}
					func() { // some steps cannot be: a file is where a directory should be
						h.steps++
						h.in(name, agenttest.Step(t, fmt.Sprintf("1.play.%d", h.steps), "alter", alter{Op: op, Path: path, Content: fmt.Sprint(rnd.IntN(4))}), false)
					}()
				}
			}
			run("r0") // something to begin with
			before := h.tree()
			run("r1")
			after := h.tree()
			if seed%3 == 0 { // as though the agent had died in every step
				forgetWhatWasLeft(t, filepath.Join(h.root, DefaultStateDir, "runs", "r1", "kept.jsonl"))
				h.reconnect()
			}
			for task := h.steps; task > 0; task-- {
				h.reconnect()
				if r := h.reverts("r2", engine.Revert{Run: "r1", Task: fmt.Sprintf("1.play.%d", task)}); r.Failure != nil {
					t.Fatal(r.Failure)
				}
			}
			if diff := cmp.Diff(before, h.tree()); diff != "" {
				t.Fatalf("after the revert (- wanted, + got): %s", diff)
			}
			if r := h.reverts("r2", engine.Revert{Run: "r1"}); r.Status != engine.StatusOK {
				t.Errorf("a second time: %s, %+v, %v", r.Status, r.Change, r.Failure)
			}
			h.reconnect()
			if r := h.reverts("r3", engine.Revert{Run: "r2"}); r.Failure != nil {
				t.Fatal(r.Failure)
			}
			if diff := cmp.Diff(after, h.tree()); diff != "" {
				t.Fatalf("after the revert of the revert (- wanted, + got): %s", diff)
			}
		})
	}
}

// forgetWhatWasLeft removes the records that steps write at their end.
func forgetWhatWasLeft(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var kept []string
	for line := range strings.Lines(string(raw)) {
		if !strings.Contains(line, `"left":true`) {
			kept = append(kept, line)
		}
	}
	if err := errors.Join(err, os.WriteFile(path, []byte(strings.Join(kept, "")), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestRevertRemovesWhatWasMade: a revert removes directories that a step created, although a
// file system was mounted on one, and a link to a directory that is not empty.
func TestRevertRemovesWhatWasMade(t *testing.T) {
	h := newHistory(t)
	h.does("r1", "mkdir", "/scratch", "")
	h.does("r1", "mkdir", "/full", "")
	h.does("r1", "link", "/current", "full")
	for _, dir := range []string{"/scratch", "/full"} {
		if err := os.Chmod(h.root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	agenttest.WriteAged(t, h.root+"/full/of", "somebody else's", 0o644, 0)
	h.reconnect()
	want := []string{"/current: restore ", "/full: lost the directory is not empty: it has of", "/scratch: restore "}
	if diff := cmp.Diff(want, fates(h.looks("r1"))); diff != "" {
		t.Error(diff)
	}
	if r := h.reverts("r2", engine.Revert{Run: "r1"}); r.Failure != nil {
		t.Error(r.Failure)
	}
	for _, path := range []string{"/scratch", "/current"} {
		if _, err := os.Lstat(h.root + path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

func TestRevertRefusesWhatHasDrifted(t *testing.T) {
	h := newHistory(t)
	agenttest.WriteAged(t, h.root+"/a", "old", 0o644, 0)
	agenttest.WriteAged(t, h.root+"/b", "old", 0o644, 0)
	for _, path := range []string{"/a", "/b", "/c"} {
		h.does("r1", "write", path, "new")
	}
	h.does("r2", "write", "/b", "newer")
	agenttest.WriteAged(t, h.root+"/c", "by hand", 0o644, 0)
	h.reconnect()
	past := h.looks("r1")
	want := []string{"/a: restore ", "/b: drifted somebody has changed it since", "/c: drifted somebody has changed it since"}
	if diff := cmp.Diff(want, fates(past)); diff != "" {
		t.Error(diff)
	}
	for _, it := range past.Items {
		if it.Name == "/b" && it.Run != "r2" || it.Name == "/c" && (it.Run != "" || !it.Created) {
			t.Errorf("got %+v", it)
		}
	}
	r := h.reverts("r3", engine.Revert{Run: "r1"})
	if r.Failure == nil || !strings.Contains(r.Failure.Message, "changed /c, /b since run r1") {
		t.Errorf("got %+v", r)
	}
	if r = h.reverts("r3", engine.Revert{Run: "r1", Task: "1.play.1"}); r.Status != engine.StatusChanged {
		t.Errorf("what is as it was left is not restored: %+v", r)
	}
	if r = h.reverts("r3", engine.Revert{Run: "r1", Force: true}); r.Failure != nil {
		t.Error(r.Failure)
	}
	for path, want := range map[string]string{"/a": "old", "/b": "old", "/c": ""} {
		if got, _ := os.ReadFile(h.root + path); string(got) != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	// A revert also restores what an earlier revert overwrote by force.
	if r = h.reverts("r4", engine.Revert{Run: "r3"}); r.Failure != nil {
		t.Error(r.Failure)
	}
	if got, _ := os.ReadFile(h.root + "/c"); string(got) != "by hand" {
		t.Errorf("/c is %q", got)
	}
}

func TestRevertTellsWhatItCannot(t *testing.T) {
	h := newHistory(t)
	h.does("r1", "lose", "/srv/data", "")
	h.does("r1", "bare", "", "")
	h.does("r1", "write", "/made/here", "x")
	h.does("r0", "turn", "tap", "stuck")
	h.does("r1", "turn", "tap", "on")
	h.does("r0", "turn", "old", "rusty")
	h.does("r1", "turn", "old", "on")
	agenttest.WriteAged(t, h.root+"/made/theirs", "x", 0o644, 0)
	h.reconnect()
	past := h.looks("r1")
	want := []string{"/made/here: restore ", "/made: lost the directory is not empty: it has theirs", "/srv/data: lost it is gone for good", "old: lost it is rusty", "tap: restore "}
	if diff := cmp.Diff(want, fates(past)); diff != "" {
		t.Error(diff)
	}
	if !past.Known || !slices.Equal(past.WithoutBackup, []string{"1.play.2"}) {
		t.Errorf("got %+v", past)
	}
	r := h.reverts("r2", engine.Revert{Run: "r1"})
	if raw, _ := json.Marshal(r.Output); r.Failure != nil || string(raw) != `{"stays":[{"kind":"alter","name":"tap","why":"it is stuck"},{"kind":"file","name":"/made","why":"the directory is not empty"}]}` {
		t.Errorf("%s, %v", raw, r.Failure)
	}
	if p := h.looks("never"); p.Known || len(p.Items) > 0 {
		t.Errorf("got %+v", p)
	}
	for _, run := range []string{"../r1", "r2"} {
		if r := h.reverts("r2", engine.Revert{Run: run}); r.Failure == nil {
			t.Errorf("reverted %s", run)
		}
	}
}

// TestRevertGoesOnWhereAnotherStopped: a revert does not repeat the restores of an
// interrupted revert, but counts them as changes, so that handlers run.
func TestRevertGoesOnWhereAnotherStopped(t *testing.T) {
	h := newHistory(t)
	agenttest.WriteAged(t, h.root+"/a", "old", 0o644, 0)
	h.does("r1", "write", "/a", "new")
	one, all := engine.Revert{Run: "r1", Task: "1.play.1"}, engine.Revert{Run: "r1"}
	for i, tt := range []struct {
		what engine.Revert
		want engine.Status
	}{{one, engine.StatusChanged}, {one, engine.StatusChanged}, {all, engine.StatusOK}, {one, engine.StatusOK}, {all, engine.StatusOK}} {
		h.reconnect()
		if left := h.looks("r1").Unfinished; (left != "") != (i == 1 || i == 2) {
			t.Errorf("before %d the unfinished revert is %q", i, left)
		}
		h.reconnect()
		if r := h.reverts(fmt.Sprint("v", i), tt.what); r.Status != tt.want {
			t.Errorf("%d: %s, want %s", i, r.Status, tt.want)
		}
	}
}

func TestRevertWaitsForFiles(t *testing.T) {
	h := newHistory(t)
	h.does("r0", "turn", "late", "late")
	h.does("r0", "turn", "soon", "off")
	h.steps = 0
	h.does("r1", "turn", "late", "on")
	h.does("r1", "turn", "soon", "on")
	turned := func() string {
		out := ""
		for _, name := range []string{"late", "soon"} {
			raw, _ := os.ReadFile(h.root + "/proc/knobs/" + name)
			var s engine.State
			_ = json.Unmarshal(raw, &s)
			out += name + " " + s["turned"] + " "
		}
		return out
	}
	for _, tt := range []struct {
		what engine.Revert
		want string
	}{
		{engine.Revert{Run: "r1", Task: "1.play.1"}, "late on soon on "},
		{engine.Revert{Run: "r1", Task: "1.play.2"}, "late on soon off "},
		{engine.Revert{Run: "r1", Task: "1.play.1", AfterFiles: true}, "late late soon off "},
	} {
		if r := h.reverts("r2", tt.what); r.Failure != nil || turned() != tt.want {
			t.Errorf("%+v: %s, %v", tt.what, turned(), r.Failure)
		}
	}
}

// TestRevertOfWhatIsGone: a unit that the revert has stopped does not count as
// changed by others when its file is removed afterwards.
func TestRevertOfWhatIsGone(t *testing.T) {
	h := newHistory(t)
	h.does("r0", "turn", "idle", "off")
	h.does("r0", "turn", "busy", "half")
	h.steps = 0
	h.does("r1", "turn", "idle", "on")
	h.does("r1", "turn", "busy", "on")
	for _, name := range []string{"idle", "busy"} {
		if err := os.Remove(h.root + "/proc/knobs/" + name); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"busy: drifted somebody has changed it since", "idle: unchanged "}
	if diff := cmp.Diff(want, fates(h.looks("r1"))); diff != "" {
		t.Error(diff)
	}
}

// TestRevertOfARevertOfWhatWasMade: a unit whose file is restored already does not
// count as changed by others either, while the unit is inactive.
func TestRevertOfARevertOfWhatWasMade(t *testing.T) {
	h := newHistory(t)
	h.does("r1", "turn", "made", "on")
	h.does("r1", "turn", "busy", "on")
	r := h.reverts("r2", engine.Revert{Run: "r1"})
	if r.Failure != nil || len(r.Change.Effects) != 2 || r.Change.Effects[0].Action != "remove: it was not there before; its screws stay" {
		t.Fatalf("%v, %+v", r.Failure, r.Change)
	}
	for name, turned := range map[string]string{"made": "off", "busy": "half"} {
		if err := os.WriteFile(h.root+"/proc/knobs/"+name, []byte(`{"turned": "`+turned+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"busy: drifted somebody has changed it since", "made: restore "}
	if diff := cmp.Diff(want, fates(h.looks("r2"))); diff != "" {
		t.Error(diff)
	}
}

// TestRevertIsReadAgain: the host reads its state again after files are restored,
// once for all files.
func TestRevertIsReadAgain(t *testing.T) {
	h := newHistory(t)
	h.does("r1", "write", "/other", "x")
	if r := h.reverts("r2", engine.Revert{Run: "r1"}); r.Failure != nil || story(t, h.root) != "" {
		t.Errorf("of another file, %v", r.Failure)
	}
	h.does("r3", "write", "/table", "x")
	if r := h.reverts("r4", engine.Revert{Run: "r3"}); r.Failure != nil {
		t.Error(r.Failure)
	}
	if got := story(t, h.root); got != "end" {
		t.Errorf("the host's story is %q", got)
	}
}

func TestRevertShowsNoSecret(t *testing.T) {
	h := newHistory(t)
	agenttest.WriteAged(t, h.root+"/a", "hunter1\n", 0o600, 0)
	agenttest.WriteAged(t, h.root+"/b", "public\n", 0o600, 0)
	h.in("r1", agenttest.Step(t, "1.play.1", "alter", alter{Op: "write", Path: "/a", Content: "hunter2\n", Secret: true}), false)
	h.does("r1", "write", "/b", "visible\n")
	r := h.reverts("look", engine.Revert{Run: "r1", Preview: true})
	raw, _ := json.Marshal(r)
	if strings.Contains(string(raw), "hunter") || !strings.Contains(string(raw), "+public") || !strings.Contains(string(raw), "-visible") {
		t.Errorf("got %s", raw)
	}
}

// TestRestoreOfAResumedRun: a run that resumes another one restores, in a rollout, what
// both have changed. It does not restore the changes of a run that it does not resume.
func TestRestoreOfAResumedRun(t *testing.T) {
	h := newHistory(t)
	h.does("r0", "write", "/a", "before")
	before := h.tree()
	h.does("r1", "write", "/a", "wrong") // 1.play.2
	h.does("r2", "write", "/a", "worse") // 1.play.3
	restore := func(run, task string) engine.Result {
		v := engine.Revert{Run: run, Task: task, InRollout: true}
		var out engine.Result
		seg := engine.Segment{Run: "r2", ResumedRuns: []string{"r1"}, Steps: []engine.Step{agenttest.Step(t, v.ID(), engine.RevertModule, v)}}
		if err := h.Session.Run(t.Context(), seg, func(r engine.Result) { out = r }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if r := restore("r0", "1.play.1"); r.Failure == nil {
		t.Errorf("the changes of a run that is not resumed: %s", r.Status)
	}
	for _, s := range [][2]string{{"r2", "1.play.3"}, {"r1", "1.play.2"}} {
		if r := restore(s[0], s[1]); r.Failure != nil || r.Status != engine.StatusChanged {
			t.Fatalf("%v: %s, %v", s, r.Status, r.Failure)
		}
	}
	if diff := cmp.Diff(before, h.tree()); diff != "" {
		t.Errorf("(- before, + after it was restored) %s", diff)
	}
}

// TestRevertOfTheSameRun: a run restores the changes of its own steps, as a failed
// rollout does. A later revert of the run finds nothing to do, and a run cannot pass
// for another one.
func TestRevertOfTheSameRun(t *testing.T) {
	h := newHistory(t)
	h.does("r0", "write", "/a", "before")
	before := h.tree()
	h.does("r1", "write", "/a", "wrong")
	h.does("r1", "write", "/b", "new")
	h.does("r1", "turn", "lamp", "late")
	h.does("r1", "turn", "lamp", "on")
	for _, task := range []string{"1.play.5", "1.play.4", "1.play.3", "1.play.2"} {
		r := h.reverts("r1", engine.Revert{Run: "r1", Task: task, InRollout: true})
		if r.Failure != nil || r.Status != engine.StatusChanged && task != "1.play.5" {
			t.Fatalf("%s: %s, %v", task, r.Status, r.Failure)
		}
	}
	// The last state of lamp needs files first; the first one did not.
	if r := h.reverts("r1", engine.Revert{Run: "r1", Task: "1.play.5", AfterFiles: true, InRollout: true}); r.Failure != nil || r.Status != engine.StatusOK {
		t.Fatalf("late: %s, %v", r.Status, r.Failure)
	}
	if diff := cmp.Diff(before, h.tree()); diff != "" {
		t.Errorf("(- before, + after it was restored) %s", diff)
	}
	h.reconnect()
	for _, item := range h.looks("r1").Items {
		if item.State != engine.RevertUnchanged {
			t.Errorf("%s: %s %s", item.Label(), item.State, item.Reason)
		}
	}
	for name, v := range map[string]engine.Revert{
		"another run as the same": {Run: "r0", InRollout: true},
		"the same as another run": {Run: "r1"},
	} {
		if r := h.reverts("r1", v); r.Failure == nil {
			t.Errorf("%s: %s", name, r.Status)
		}
	}
}

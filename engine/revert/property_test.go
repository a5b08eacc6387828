package revert_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/remote"
	"deployer/engine/remote/remotetest"
	"deployer/engine/revert"
	"deployer/engine/schedule"
	"deployer/engine/session"
	"deployer/tasks"
)

// site is one host, below a directory, and a playbook for it.
type site struct {
	t        *testing.T
	root     string
	registry engine.Registry
	program  *program.Program
	runs     int
}

// Connect implements session.Connector with an agent in this process.
func (s *site) Connect(ctx context.Context, _ string) (session.Session, error) {
	here, there := net.Pipe()
	go func() {
		_ = agent.Serve(context.Background(), there, there, s.registry, agent.ServeOptions{Root: s.root})
		_ = there.Close()
	}()
	return remotetest.Attach(ctx, here, remote.Options{Host: "h1"})
}

func newSite(t *testing.T, book string) *site {
	t.Helper()
	s := &site{t: t, root: t.TempDir(), registry: engine.NewRegistry(tasks.Modules())}
	lib := compile.Compiler{Registry: s.registry}
	var err error
	if s.program, err = lib.Compile(lang.Tree{FS: fstest.MapFS{"site.yaml": {Data: []byte(book)}}}, "site.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, book)
	}
	return s
}

// sink records the results of a host, and ends the run after a number of steps.
type sink struct {
	mu    sync.Mutex
	steps int
	limit int
	kill  context.CancelFunc
	past  map[string]engine.RunHistory
}

// Emit implements engine.Sink.
func (k *sink) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steps++
	if k.steps == k.limit {
		k.kill()
	}
	if p, err := revert.ParseHistory(e.Result.Output); err == nil {
		k.past[e.Host] = p
	}
}

// run runs a program and ends it after limit steps; 0 is no limit. It returns the
// number of steps.
func (s *site) run(p *program.Program, check bool, limit int) *sink {
	s.t.Helper()
	ctx, kill := context.WithCancel(s.t.Context())
	defer kill()
	k := &sink{limit: limit, kill: kill, past: map[string]engine.RunHistory{}}
	s.runs++
	report, err := schedule.Run(ctx, p, schedule.Options{
		RunID: fmt.Sprintf("r%d", s.runs), CheckOnly: check, Hosts: []string{"h1"}, Registry: s.registry, Connector: s, Sink: k,
		Match: func(string) ([]string, error) { return []string{"h1"}, nil },
		Vars:  func(string) (map[string]any, error) { return map[string]any{}, nil },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if broken := report.Broken(); len(broken) > 0 && limit == 0 {
		s.t.Fatalf("failed at %q: %v", broken[0].FailedStep, broken[0].Failure)
	}
	return k
}

// reverts reverts a run, and ends the revert after limit steps; 0 is no limit.
func (s *site) reverts(p *program.Program, run string, limit int) (*program.Program, *sink) {
	s.t.Helper()
	ask, err := revert.Query(run, false)
	if err != nil {
		s.t.Fatal(err)
	}
	past := s.run(ask, true, 0).past
	back, err := revert.Inverse(p, revert.Options{Run: run, History: past})
	if err != nil {
		s.t.Fatal(err)
	}
	again, err := revert.Inverse(p, revert.Options{Run: run})
	if err != nil {
		s.t.Fatal(err)
	}
	return again.Program, s.run(back.Program, false, limit)
}

func (s *site) tree() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, s.root)
		switch {
		case err != nil:
			return err
		case name == agent.DefaultStateDir:
			return fs.SkipDir
		case name == "/var" || name == "/var/lib":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			var raw []byte
			raw, err = os.ReadFile(path)
			content = string(raw)
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
		}
		out[name] = fmt.Sprint(info.Mode(), " ", content)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// randomBook returns a playbook whose steps may change the same resources, in
// rollouts and handlers too.
func randomBook(rnd *rand.Rand) string {
	paths := []string{"/srv/a", "/srv/b", "/srv/d/c"}
	path := func() string { return paths[rnd.IntN(len(paths))] }
	var lines []string
	step := func(indent string) {
		text := ""
		switch n := rnd.IntN(100); rnd.IntN(8) {
		case 0, 1:
			text = fmt.Sprintf("file: {path: %s, content: \"%d\\n\", mode: \"06%d0\"}", path(), n, n%5)
		case 2:
			text = fmt.Sprintf("line: {path: %s, line: \"line %d\", create: true}", path(), n)
		case 3:
			text = fmt.Sprintf("directory: {path: /srv/e/f%d, mode: \"07%d0\"}", n%3, n%6)
		case 4:
			text = fmt.Sprintf("link: {path: /srv/l%d, to: /srv/%d}", n%2, n)
		case 5:
			text = fmt.Sprintf("absent: {path: %s}", []string{"/srv/d/c", "/srv/old", "/srv/e", "/srv/b"}[n%4])
		case 6:
			text = fmt.Sprintf("text_block: {path: %s, block: \"b %d\", create: true}", path(), n)
		case 7:
			text = fmt.Sprintf("copy: {dest: %s, content: \"copied %d\"}", path(), n)
		}
		notify := ""
		if rnd.IntN(3) == 0 {
			notify = ", notify: noted"
		}
		lines = append(lines, fmt.Sprintf("%s- {name: s%d, %s%s}", indent, len(lines), text, notify))
	}
	lines = append(lines, "- hosts: all", "  tasks:")
	for range 1 + rnd.IntN(4) {
		step("    ")
	}
	lines = append(lines, "    - throttle: 1", "      block:")
	for range 1 + rnd.IntN(3) {
		step("        ")
	}
	lines = append(lines, "    - {name: gate, wait_for: {path: /srv}}", "    - meta: flush_handlers")
	step("    ")
	lines = append(lines, "  handlers:", "    - {name: noted, line: {path: /srv/noted, line: noted, create: true}}")
	return strings.Join(lines, "\n")
}

// lay writes the initial files of the host.
func (s *site) lay() {
	s.t.Helper()
	for name, content := range map[string]string{"srv/a": "was a\n", "srv/old/deep/x": "old", "srv/d/other": "o"} {
		path := filepath.Join(s.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestRevertRandomPlaybooks is a property test. A random playbook of small steps runs
// to its end or for a number of steps. Its revert restores the previous state of the
// host, also when the revert is killed after any of its steps and begun again. The
// revert of the revert restores the state after the run.
func TestRevertRandomPlaybooks(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // what is kept is written through to the disk
	}
	killed := 0
	for seed := range uint64(25) {
		for kill, steps := 0, 1; kill <= steps; kill++ {
			rnd := rand.New(rand.NewPCG(seed, 7))
			s := newSite(t, randomBook(rnd))
			s.lay()
			before := s.tree()
			s.run(s.program, false, rnd.IntN(3)*4) // to the end, or only for some steps
			after := s.tree()
			way, k := s.reverts(s.program, "r1", kill)
			last := s.runs
			if kill == 0 {
				steps = k.steps
			} else {
				killed++
				_, _ = s.reverts(s.program, "r1", 0)
			}
			if diff := cmp.Diff(before, s.tree()); diff != "" {
				t.Fatalf("seed %d, killed after %d steps: (- before, + after the revert)\n%s\n%s", seed, kill, diff, randomBook(rand.New(rand.NewPCG(seed, 7))))
			}
			if kill > 0 {
				continue
			}
			if _, k := s.reverts(s.program, "r1", 0); !maps.Equal(before, s.tree()) || k.steps < 1 {
				t.Fatalf("seed %d: a second revert changed something", seed)
			}
			s.reverts(way, fmt.Sprintf("r%d", last), 0)
			if diff := cmp.Diff(after, s.tree()); diff != "" {
				t.Fatalf("seed %d: (- after the run, + after the revert of its revert)\n%s\n%s", seed, diff, randomBook(rand.New(rand.NewPCG(seed, 7))))
			}
		}
	}
	t.Logf("%d reverts were killed and begun again", killed)
}

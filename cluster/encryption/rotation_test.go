package encryption_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster/encryption"
)

func newFile(t *testing.T) *encryption.File {
	t.Helper()
	f, err := encryption.New()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func parse(t *testing.T, text string) *encryption.File {
	t.Helper()
	f, err := encryption.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// must returns the file of a change that cannot fail.
func must(t *testing.T, change func() (*encryption.File, error)) *encryption.File {
	t.Helper()
	f, err := change()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRotationLeadsThroughAllStages(t *testing.T) {
	f := newFile(t)
	require := func(stage encryption.Stage, current, former string, keys ...string) {
		t.Helper()
		if diff := cmp.Diff(keys, f.Keys()); diff != "" || f.Stage() != stage {
			t.Errorf("stage %s, want %s; keys (-want +got): %s", f.Stage(), stage, diff)
		}
		if got := strings.Join(f.CurrentPrefixes(), " "); got != current {
			t.Errorf("values begin with %q, want %q", got, current)
		}
		if got := strings.Join(f.FormerPrefixes(), " "); got != former {
			t.Errorf("former values begin with %q, want %q", got, former)
		}
	}
	require(encryption.Steady, "k8s:enc:secretbox:v1:key1:", "", "key1")
	name := encryption.KeyName(time.Date(2026, 11, 23, 7, 30, 15, 0, time.UTC))
	f = must(t, func() (*encryption.File, error) { return f.Add(name) })
	require(encryption.Added, "k8s:enc:secretbox:v1:key1:", "k8s:enc:secretbox:v1:key-20261123-073015:", "key1", name)
	f = must(t, f.Promote)
	require(encryption.Writing, "k8s:enc:secretbox:v1:key-20261123-073015:", "k8s:enc:secretbox:v1:key1:", name, "key1")
	f = must(t, f.Drop)
	require(encryption.Steady, "k8s:enc:secretbox:v1:key-20261123-073015:", "", name)
	if _, err := f.Add(name); !errors.Is(err, encryption.ErrOlder) {
		t.Errorf("adding the key again: %v", err)
	}
	if _, err := f.Add(encryption.KeyName(time.Date(2026, 11, 23, 7, 30, 14, 0, time.UTC))); !errors.Is(err, encryption.ErrOlder) {
		t.Errorf("adding an older key: %v", err)
	}
	if !strings.Contains(string(f.Bytes()), "identity: {}") {
		t.Errorf("the last provider is gone:\n%s", f.Bytes())
	}
}

// handWritten is a file with two lists of resources and providers of three kinds.
const handWritten = `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets, configmaps]
  providers:
  - aescbc: {keys: [{name: new, secret: bmV3}, {name: old, secret: b2xk}]}
  - aesgcm: {keys: [{name: ancient, secret: YW5j}]}
- resources: ["*.example.org"]
  providers:
  - secretbox: {keys: [{name: new, secret: c2Jv}]}
  - identity: {}
`

func TestRotationOfHandWrittenFile(t *testing.T) {
	f := parse(t, handWritten)
	if f.Stage() != encryption.Writing || f.Rotatable() != nil {
		t.Fatalf("stage %s, rotatable: %v", f.Stage(), f.Rotatable())
	}
	f = must(t, f.Drop)
	f = must(t, func() (*encryption.File, error) { return f.Add("key-20261123-073015") })
	f = must(t, f.Promote)
	want := []string{"k8s:enc:aescbc:v1:new:", "k8s:enc:secretbox:v1:new:"}
	if diff := cmp.Diff(want, f.FormerPrefixes()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"secrets", "configmaps", "*.example.org"}, f.Resources()); diff != "" {
		t.Error(diff)
	}
	if text := string(f.Bytes()); !strings.Contains(text, "name: ancient") || strings.Contains(text, "name: old") {
		t.Errorf("keys of other providers are not kept, or dropped ones are:\n%s", text)
	}
}

func TestRotatable(t *testing.T) {
	for first, want := range map[string]string{
		"identity: {}":       "secrets are not encrypted",
		"kms: {name: vault}": "KMS plugin",
		"secretbox: {}":      "no key",
		"rot13: {}":          `provider "rot13"`,
	} {
		f := parse(t, "kind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{"+first+"}]}]")
		if err := f.Rotatable(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", first, err, want)
		}
		if same := must(t, f.Promote); string(same.Bytes()) != string(must(t, same.Drop).Bytes()) {
			t.Errorf("%s: a provider without keys changes", first)
		}
	}
}

func TestMerge(t *testing.T) {
	steady := newFile(t)
	name := "key-20261123-073015"
	added := must(t, func() (*encryption.File, error) { return steady.Add(name) })
	writing := must(t, added.Promote)
	dropped := must(t, writing.Drop)
	stranger := newFile(t)
	configmaps := parse(t, strings.Replace(string(steady.Bytes()), "- secrets", "- configmaps", 1))
	spaced := parse(t, "# by hand\n"+string(added.Bytes()))
	tests := []struct {
		name  string
		files []*encryption.File
		want  *encryption.File // nil: ErrDifferent
	}{
		{"one master has the new key", []*encryption.File{steady, added, steady}, added},
		{"one master writes with the new key", []*encryption.File{added, writing, added}, writing},
		{"the old key is still there", []*encryption.File{dropped, writing, dropped}, writing},
		{"no master writes with a key that another one lacks", []*encryption.File{steady, added, writing}, added},
		{"a master from before the rotation brings its key", []*encryption.File{steady, dropped}, writing},
		{"comments stay", []*encryption.File{steady, spaced}, spaced},
		{"another key of the same name", []*encryption.File{steady, stranger}, nil},
		{"other resources", []*encryption.File{steady, configmaps}, nil},
	}
	for _, tt := range tests {
		for _, reversed := range []bool{false, true} {
			files := slices.Clone(tt.files)
			if reversed {
				slices.Reverse(files)
			}
			got, err := encryption.Merge(files)
			switch {
			case tt.want == nil:
				if !errors.Is(err, encryption.ErrDifferent) {
					t.Errorf("%s: %v", tt.name, err)
				}
			case err != nil:
				t.Errorf("%s: %v", tt.name, err)
			default:
				if diff := cmp.Diff(string(tt.want.Bytes()), string(got.Bytes())); diff != "" {
					t.Errorf("%s (reversed %v): %s", tt.name, reversed, diff)
				}
			}
		}
	}
}

func TestDropKey(t *testing.T) {
	steady := newFile(t)
	added := must(t, func() (*encryption.File, error) { return steady.Add("key-20261123-073015") })
	writing := must(t, added.Promote)
	dropped := must(t, writing.Drop)
	for name, c := range map[string]struct {
		files []*encryption.File
		want  bool
	}{
		"dropping has begun":                            {[]*encryption.File{writing, dropped, writing}, true},
		"dropping has not begun":                        {[]*encryption.File{writing, writing}, false},
		"dropping has ended":                            {[]*encryption.File{dropped, dropped}, false},
		"a master from an older step":                   {[]*encryption.File{dropped, writing, added}, false},
		"a master with a file from before the rotation": {[]*encryption.File{dropped, steady}, false},
		"files of two clusters":                         {[]*encryption.File{steady, newFile(t)}, false},
	} {
		last, begun := encryption.Dropping(c.files)
		if begun != c.want || begun && string(last.Bytes()) != string(dropped.Bytes()) {
			t.Errorf("%s: %v, %v", name, begun, last)
		}
	}
}

// world is a cluster in the middle of rotations: the file of each master, the file that
// its API server runs with, and the prefix of each object in etcd.
type world struct {
	t       *testing.T
	random  *rand.Rand
	files   []*encryption.File
	running []*encryption.File // nil: the API server restarts
	objects []string
	clock   time.Time
	trace   []string
	killAt  int // steps until the controller is killed
}

var errKilled = errors.New("killed")

// event simulates independent events: API servers crash and start with the present
// file, and clients write objects through any API server. Then every API server must
// be able to read every object.
func (w *world) event(text string) {
	w.trace = append(w.trace, text)
	for range w.random.IntN(4) {
		i := w.random.IntN(len(w.files))
		switch w.random.IntN(3) {
		case 0:
			w.running[i] = nil
		case 1:
			w.running[i] = w.files[i]
		case 2:
			w.write(w.random.IntN(len(w.objects)))
		}
	}
	for i, f := range w.running {
		for _, object := range w.objects {
			if f != nil && !slices.Contains(slices.Concat(f.CurrentPrefixes(), f.FormerPrefixes()), object) {
				w.t.Fatalf("API server %d with the keys %v cannot read %s\n%s", i, f.Keys(), object, strings.Join(w.trace, "\n"))
			}
		}
	}
}

// write encrypts an object through a random API server that runs.
func (w *world) write(object int) {
	if f := w.running[w.random.IntN(len(w.running))]; f != nil {
		w.objects[object] = f.CurrentPrefixes()[0]
	}
}

// step is one change of the controller, before which it may be killed.
func (w *world) step(text string) error {
	w.event(text)
	if w.killAt--; w.killAt < 0 {
		return errKilled
	}
	return nil
}

func (w *world) merged() *encryption.File {
	w.t.Helper()
	f, err := encryption.Merge(w.files)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// rollOut gives masters a file and restarts their API servers, in any order; with gates
// one by one, and each must run with the file before the next changes.
func (w *world) rollOut(f *encryption.File, gates bool) error {
	order := w.random.Perm(len(w.files))
	if !gates {
		for _, i := range order {
			if err := w.step("write the file of another run"); err != nil {
				return err
			}
			w.files[i] = f
		}
	}
	for _, i := range order {
		if err := w.step("write the file"); err != nil {
			return err
		}
		w.files[i] = f
		if err := w.step("restart the API server"); err != nil {
			return err
		}
		w.running[i] = f
	}
	return nil
}

// rotate rotates the key as the playbook of deployer certs rotate-encryption-key
// does.
func (w *world) rotate(name string) error {
	f := w.merged()
	if last, begun := encryption.Dropping(w.files); begun && !w.stale(f) {
		return w.rollOut(last, true)
	}
	if f.Stage() == encryption.Steady {
		if next, err := f.Add(name); err == nil {
			f = next
		}
	}
	if err := w.rollOut(f, true); err != nil || f.Stage() == encryption.Steady {
		return err
	}
	f = must(w.t, f.Promote)
	if err := w.rollOut(f, true); err != nil {
		return err
	}
	for w.stale(f) {
		if err := w.step("rewrite an object"); err != nil {
			return err
		}
		w.write(w.random.IntN(len(w.objects)))
	}
	return w.rollOut(must(w.t, f.Drop), true)
}

// stale reports whether a former key of the file has encrypted an object.
func (w *world) stale(f *encryption.File) bool {
	return slices.ContainsFunc(w.objects, func(o string) bool { return slices.Contains(f.FormerPrefixes(), o) })
}

// install is a run of another verb: it merges the files and rolls them out.
func (w *world) install() error { return w.rollOut(w.merged(), false) }

// TestEveryAPIServerReadsEveryObject kills rotations at any place, continues them by
// new ones, and runs installs in between, while API servers crash and clients write.
func TestEveryAPIServerReadsEveryObject(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := &world{t: t, random: random, objects: make([]string, 4), clock: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
		first := newFile(t)
		for range 1 + random.IntN(4) {
			w.files, w.running = append(w.files, first), append(w.running, first)
		}
		for i := range w.objects {
			w.objects[i] = first.CurrentPrefixes()[0]
		}
		for rotations := 0; rotations < 3; {
			w.killAt = random.IntN(40)
			w.clock = w.clock.Add(time.Minute)
			if random.IntN(3) == 0 {
				w.trace = append(w.trace, "install")
				if err := w.install(); err != nil && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				continue
			}
			w.trace = append(w.trace, "rotate")
			switch err := w.rotate(encryption.KeyName(w.clock)); {
			case err == nil:
				rotations++
			case !errors.Is(err, errKilled):
				t.Fatal(err)
			}
		}
		w.event("end")
		for i, f := range w.files {
			if string(f.Bytes()) != string(w.files[0].Bytes()) || f.Stage() != encryption.Steady || f.Keys()[0] == "key1" {
				t.Fatalf("master %d ends with the keys %v", i, f.Keys())
			}
		}
	}
}

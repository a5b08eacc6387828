package build

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/images"
	"deployer/images/imagefile"
)

// ownImages returns the graph of two images of a user, one on top of the other.
func ownImages(t *testing.T) *imagefile.Set {
	t.Helper()
	var files []imagefile.File
	for _, content := range []string{
		"name: ground\nimage: registry.example/ground\nversion: \"1\"\nbase: scratch\npackages: [nginx]\n",
		"name: top\nimage: registry.example/top\nversion: \"2\"\nbase: ground\npackages: [haproxy]\n" +
			"env: {COLOUR: green}\nuser: \"7:7\"\nentrypoint: [/usr/sbin/haproxy]\n" +
			"files: [{path: /etc/motd, content: hello, mode: \"0600\"}]\n",
		"name: aside\nimage: registry.example/aside\nversion: \"3\"\nbase: scratch\nbinaries: [{from: pause, program: pause, path: /pause}]\n",
	} {
		f, err := imagefile.Read("own.yaml", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	set, err := imagefile.NewSet(files)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// build makes the images and returns their manifest digests by name, and the state of each.
func (b *builder) build(t *testing.T) (digests map[string]string, states map[string]State) {
	t.Helper()
	states = map[string]State{}
	b.progress = &reporter{report: func(e Event) {
		if e.Image != "" {
			states[e.Image] = e.State
		}
	}}
	b.options.OnlyImages = true
	all, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := images.ReadIndex(b.options.Dir)
	if err != nil {
		index = &images.Index{}
	}
	if err := b.makeAll(t.Context(), index, all); err != nil {
		t.Fatal(err)
	}
	digests = map[string]string{}
	for _, e := range index.Entries {
		digests[e.Name] = e.Manifest
	}
	return digests, states
}

// TestImageOnABase: an image has the layers of its base below its own, without the
// packages of the base.
func TestImageOnABase(t *testing.T) {
	b := fakeBuilder(t)
	b.images = ownImages(t)
	b.build(t)
	open := func(path string) (names []string, layers int, config string) {
		img, err := images.OpenImage(filepath.Join(b.options.Dir, path))
		if err != nil {
			t.Fatal(err)
		}
		all, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		if names, err = layerFiles(img); err != nil {
			t.Fatal(err)
		}
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		return names, len(all), file.Config.User + " " + strings.Join(file.Config.Entrypoint, " ") + " " + strings.Join(file.Config.Env, " ")
	}
	names, layers, config := open("registry.example/top/2-amd64.tar")
	if layers != 2 || !slices.Contains(names, "nginx") || !slices.Contains(names, "haproxy") || !slices.Contains(names, "motd") {
		t.Errorf("top has %d layers with %q", layers, names)
	}
	if count := strings.Count(strings.Join(names, " "), "libc.so.6"); count != 1 {
		t.Errorf("libc is in the image %d times, want once, in the base", count)
	}
	if want := "7:7 /usr/sbin/haproxy " + searchPath + " COLOUR=green"; config != want {
		t.Errorf("configuration is %q, want %q", config, want)
	}
	if _, layers, _ := open("registry.example/ground/1-amd64.tar"); layers != 1 {
		t.Errorf("ground has %d layers", layers)
	}
}

// TestChangedPackage: a changed package changes the images that have it and the
// images on top of them, and no others; without --changed the locked packages stay.
func TestChangedPackage(t *testing.T) {
	b := fakeBuilder(t)
	b.images = ownImages(t)
	before, _ := b.build(t)
	if len(before) != 3 {
		t.Fatalf("built %v", before)
	}
	b.fakeDeb(t, deb{Name: "libssl3", Source: "openssl", Version: "3.0.15-1~deb12u2", Arch: "amd64", Depends: []string{"libc6"}},
		map[string]string{"usr/lib/x86_64-linux-gnu/libssl.so.3": "newer ssl"})
	b.fakeDeb(t, deb{Name: "haproxy", Version: "2.6.12-1+deb12u2", Arch: "amd64", Depends: []string{"libc6", "libssl3"}},
		map[string]string{"usr/sbin/haproxy": "newer haproxy"})
	b.debs.lists = "newer"

	b.options.Locked = true
	if same, states := b.build(t); !maps.Equal(same, before) || states["ground"] != Cached || states["top"] != Cached {
		t.Errorf("with the lock the build gave %v through %v, want %v", same, states, before)
	}
	outdated, err := b.outdated(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, o := range outdated {
		rows = append(rows, strings.Join([]string{o.Image, o.Package, o.Locked, o.Offered, strings.Join(o.OnTop, " ")}, "|"))
	}
	if want := []string{"ground|libssl3|3.0.15-1~deb12u1|3.0.15-1~deb12u2|top", "top|haproxy|2.6.12-1+deb12u1|2.6.12-1+deb12u2|"}; !slices.Equal(rows, want) {
		t.Errorf("outdated are %q, want %q", rows, want)
	}

	affected, err := Affected(b.images, b.lock, []string{"libssl3"})
	if err != nil || !slices.Equal(affected, []string{"ground", "top"}) {
		t.Errorf("a change of libssl3 reaches %q (%v), want ground and top", affected, err)
	}
	b.options.Changed = []string{"libssl3"}
	after, states := b.build(t)
	if states["ground"] != Built || states["top"] != Built || states["aside"] != Cached {
		t.Errorf("the build went through %v", states)
	}
	if after["ground"] == before["ground"] || after["top"] == before["top"] || after["aside"] != before["aside"] {
		t.Errorf("digests are %v, were %v", after, before)
	}
	pins, _ := b.lock.Find("top", "amd64")
	if i := slices.IndexFunc(pins.Packages, func(p LockedPackage) bool { return p.Name == "haproxy" }); pins.Packages[i].Version != "2.6.12-1+deb12u1" {
		t.Errorf("haproxy went to %s with a change of libssl3", pins.Packages[i].Version)
	}
	if affected, err = Affected(b.images, b.lock, []string{"openssl"}); err != nil || !slices.Equal(affected, []string{"ground", "top"}) {
		t.Errorf("a change of the source package reaches %q (%v), want ground and top", affected, err)
	}
	if _, err := Affected(b.images, b.lock, []string{"opnssl"}); err == nil || !strings.Contains(err.Error(), "opnssl is neither") {
		t.Errorf("error is %v", err)
	}
}

func TestPackageLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), PackageLockName)
	lock, err := ReadPackageLock(path)
	if err != nil {
		t.Fatal(err)
	}
	image := LockedImage{Name: "a", Arch: "amd64", Wanted: []string{"x"}, Packages: []LockedPackage{{Name: "x", Version: "1", Source: "y", Arch: "all", SHA256: "ab"}}}
	lock.Put(image)
	if err := lock.Write(); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join("testdata", "images-1.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(golden) {
		t.Errorf("written in another form than its format: give it another number, and read the old one:\n%s%v", got, err)
	}
	again, err := ReadPackageLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := again.Find("a", "amd64"); !ok || got.Packages[0] != image.Packages[0] {
		t.Errorf("read %+v", got)
	}
	if err := os.WriteFile(path, []byte("format: 9\npins: {a: b}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPackageLock(path); err == nil || !strings.Contains(err.Error(), "has the format 9") {
		t.Errorf("error is %v", err)
	}
}

// TestFailedBase: a base that cannot be built stops only the images on top of it.
func TestFailedBase(t *testing.T) {
	b := fakeBuilder(t)
	b.images = ownImages(t)
	broken := b.debs.known["nginx"]
	if err := os.WriteFile(b.debs.path(broken), []byte("broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.options.OnlyImages = true
	b.debs.apt = []string{"-o", "Dir::Etc=/nonexistent", "-o", "Dir::State::Lists=/nonexistent"}
	all, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	index := &images.Index{}

	err = b.makeAll(t.Context(), index, all)
	if err == nil || !strings.Contains(err.Error(), "building top 2 amd64: its base was not built") {
		t.Errorf("error is %v", err)
	}
	if _, ok := index.Find(images.Ref{Name: "aside", Version: "3", Arch: "amd64"}); !ok {
		t.Error("aside was not built")
	}
}

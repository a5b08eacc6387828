package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/tasktest"
)

// TestPinnedImagesOfASet: an import pins its images, an image from an earlier import is
// pinned without another import, and an image that the task no longer lists is unpinned.
// Pins of other sets stay.
func TestPinnedImagesOfASet(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, true)
	one := Tarball{Name: "one", Blob: f.sys.AddBlob(dockerSave(t, "a.b/one:1"))}
	two := Tarball{Name: "two", Blob: f.sys.AddBlob(dockerSave(t, "a.b/two:1"))}
	tasktest.Converge(t, f.sys, &Import{Images: []Tarball{one}})
	f.refs = append(f.refs, "a.b/other:1")
	f.labels["a.b/other:1"] = "dns"

	change := tasktest.Converge(t, f.sys, &Import{Pin: "static-pods", Images: []Tarball{one, two}})
	if diff := cmp.Diff([]string{"two: import", "a.b/one:1: pin"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"a.b/one:1": "static-pods", "a.b/two:1": "static-pods", "a.b/other:1": "dns"}
	if diff := cmp.Diff(want, f.labels); diff != "" {
		t.Error(diff)
	}

	change = tasktest.Converge(t, f.sys, &Import{Pin: "static-pods", Images: []Tarball{two}})
	if diff := cmp.Diff([]string{"a.b/one:1: unpin"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	want["a.b/one:1"] = ""
	if diff := cmp.Diff(want, f.labels); diff != "" {
		t.Error(diff)
	}
}

// TestRebuiltImageStaysPinned: the reference stays pinned while its content is replaced.
func TestRebuiltImageStaysPinned(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, true)
	tag := "a.b/one:1"
	first := Tarball{Name: "one", Blob: f.sys.AddBlob(dockerSave(t, tag))}
	rebuilt := Tarball{Name: "one", Blob: f.sys.AddBlob(tarball(t, "manifest.json", `[{"Config":"d","RepoTags":["`+tag+`"]}]`))}
	tasktest.Converge(t, f.sys, &Import{Pin: "dns", Images: []Tarball{first}})
	change := tasktest.Converge(t, f.sys, &Import{Pin: "dns", Images: []Tarball{rebuilt}})
	if diff := cmp.Diff([]string{"one: import"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if f.labels[tag] != "dns" {
		t.Errorf("%s is pinned for %q", tag, f.labels[tag])
	}
}

// TestReplacedImageOfASet: with only, the earlier image of a set is removed with its pin.
func TestReplacedImageOfASet(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, true)
	first := Tarball{Name: "probe", Only: true, Blob: f.sys.AddBlob(dockerSave(t, "a.b/probe:1"))}
	second := Tarball{Name: "probe", Only: true, Blob: f.sys.AddBlob(dockerSave(t, "a.b/probe:2"))}
	tasktest.Converge(t, f.sys, &Import{Pin: "on-top", Images: []Tarball{first}})
	tasktest.Converge(t, f.sys, &Import{Pin: "on-top", Images: []Tarball{second}})
	if diff := cmp.Diff([]string{"a.b/probe:2"}, f.refs); diff != "" {
		t.Error(diff)
	}
}

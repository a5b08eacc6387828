package roles_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/program"
	"deployer/tasks/image"
)

// TestImagesOfAddonsArePinnedOnce: an image is in one set of pins, or two tasks take it from each other in
// every run.
func TestImagesOfAddonsArePinnedOnce(t *testing.T) {
	s := newSite(t, "addresses")
	of := func(name, version string) any { return map[string]any{"name": name, "version": version} }
	s.vars.SetAddonImages([]any{of("pause", s.cluster.Versions.Pause), of("pause", "3.9"), of("coredns", s.cluster.Versions.CoreDNS), of("image-x", "1")})
	var got []image.Request
	s.see = func(task *program.Task, _ string, args any) {
		if a, ok := args.(*image.Image); ok && task.Name == "container images of add-ons" {
			got = a.Images
		}
	}
	s.files(t, s.cluster.NodeNames[0])
	if diff := cmp.Diff([]image.Request{{Name: "pause", Version: "3.9"}, {Name: "image-x", Version: "1"}}, got); diff != "" {
		t.Error(diff)
	}
}

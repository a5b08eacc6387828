package versions

import (
	"context"
	"os"
	"path"
	"regexp"
	"strings"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// image is the image of a manifest.
type image struct {
	name    string // as the manifest has it, without digest
	version string // its tag
}

// imageLine is the line of a manifest that names the image of its container.
var imageLine = regexp.MustCompile(`(?m)^\s*(?:- )?image:\s*["']?([^\s"'@]*?:([\w][\w.-]*))(?:@\S+)?["']?\s*$`)

// imageOf returns the image of a manifest; false when there is none, or no tag.
func imageOf(sys engine.System, file string) (image, bool) {
	text, err := os.ReadFile(sys.Path(file))
	if err != nil {
		return image{}, false
	}
	m := imageLine.FindSubmatch(text)
	if m == nil {
		return image{}, false
	}
	return image{name: string(m[1]), version: string(m[2])}, true
}

// imagesOf returns a function that reports whether containerd has an image. Every
// image counts as present when asked is false or when containerd does not answer:
// then a refusal is the safer error. Names are compared from their last slash on,
// because a registry may be left out.
func imagesOf(ctx context.Context, sys engine.System, asked bool) func(image) bool {
	if !asked {
		return func(image) bool { return true }
	}
	out, err := containerd.Connect(sys, "", "").Run(ctx, "images", "ls", "-q")
	if err != nil {
		return func(image) bool { return true }
	}
	present := map[string]bool{}
	for name := range strings.FieldsSeq(out) {
		name, _, _ = strings.Cut(name, "@")
		present[path.Base(name)] = true
	}
	return func(i image) bool { return present[path.Base(i.name)] }
}

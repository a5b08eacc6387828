package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// maxIndex is the maximum size in bytes of an index in a tarball.
const maxIndex = 4 << 20

// refsOf reads the names of the images in a tarball, as containerd lists them: from the
// index of an OCI layout, otherwise from the manifest of docker save.
func refsOf(tarball io.Reader) ([]string, error) {
	var docker []struct{ RepoTags []string }
	var oci struct {
		Manifests []struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"manifests"`
	}
	t := tar.NewReader(tarball)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var into any
		switch path.Clean(h.Name) {
		case "manifest.json":
			into = &docker
		case "index.json":
			into = &oci
		default:
			continue
		}
		if err := json.NewDecoder(io.LimitReader(t, maxIndex)).Decode(into); err != nil {
			return nil, fmt.Errorf("reading %s: %w", h.Name, err)
		}
	}
	var refs []string
	for _, m := range oci.Manifests {
		if name := m.Annotations["io.containerd.image.name"]; name != "" {
			refs = append(refs, name)
		} else if name := m.Annotations["org.opencontainers.image.ref.name"]; strings.Contains(name, "/") {
			refs = append(refs, name)
		}
	}
	if len(refs) == 0 {
		for _, m := range docker {
			for _, tag := range m.RepoTags {
				refs = append(refs, canonical(tag))
			}
		}
	}
	if len(refs) == 0 {
		return nil, errors.New("the tarball names no image: write it with docker save or as an OCI layout")
	}
	slices.Sort(refs)
	return slices.Compact(refs), nil
}

// canonical returns a docker reference in containerd's form, with docker.io and library
// (distribution/reference, ParseDockerRef).
func canonical(ref string) string {
	first, rest, ok := strings.Cut(ref, "/")
	switch {
	case ok && first == "index.docker.io":
		return canonical("docker.io/" + rest)
	case ok && first == "docker.io" && !strings.Contains(rest, "/"):
		return "docker.io/library/" + rest
	case ok && (first == "localhost" || strings.ContainsAny(first, ".:")):
		return ref
	case ok:
		return "docker.io/" + ref
	}
	return "docker.io/library/" + ref
}

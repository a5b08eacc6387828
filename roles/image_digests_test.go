package roles_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestImageDigestChangesPods checks that a rebuilt image with the same tag changes the
// manifests of static pods and the templates of Deployments that use it.
func TestImageDigestChangesPods(t *testing.T) {
	for sample, host := range map[string]string{"nginx": "n1", "haproxy": "n2", "single": "solo"} {
		s := newSite(t, sample)
		before := s.files(t, host)
		digests := map[string]map[string]string{}
		for name, ref := range s.images {
			digests[ref] = map[string]string{"amd64": "sha256:rebuilt-" + name}
		}
		s.vars.SetImageDigests(digests)
		after := s.files(t, host)
		pods := 0
		for file, content := range after {
			if !strings.HasPrefix(file, "/etc/kubernetes/manifests/") && file != "kubernetes:coredns.yaml.tmpl" {
				continue
			}
			pods++
			if was, is := hashOf(before[file]), hashOf(content); was == "" || was == is {
				t.Errorf("%s, %s: %s has the hash %q before and %q after its image was rebuilt", sample, host, file, was, is)
			}
		}
		if pods < 2 {
			t.Errorf("%s, %s: %d manifests", sample, host, pods)
		}
	}
}

var hashLine = regexp.MustCompile(`deployer/(config-)?hash: (\S+)`)

func hashOf(manifest string) string {
	if m := hashLine.FindStringSubmatch(manifest); m != nil {
		return m[2]
	}
	return ""
}

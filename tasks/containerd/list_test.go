package containerd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseImages(t *testing.T) {
	t.Parallel()
	got := parseImages(`REF                              TYPE                                       DIGEST                  SIZE      PLATFORMS   LABELS
deployer.local/probe:0123456789ab application/vnd.oci.image.index.v1+json     sha256:aaaa             3.9 MiB   linux/amd64 deployer/pinned-for=dns,io.cri-containerd.image=managed,io.cri-containerd.pinned=pinned
sha256:cccc                       application/vnd.oci.image.manifest.v1+json  sha256:bbbb             735.9 KiB linux/amd64 -

`)
	want := []Image{{"deployer.local/probe:0123456789ab", "sha256:aaaa", "dns"}, {"sha256:cccc", "sha256:bbbb", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

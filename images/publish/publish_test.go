package publish

import (
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/images"
	"deployer/images/imagefile"
	"deployer/images/imagetest"
	realregistry "deployer/test/registry"
)

// targets are registries with and without the API for referrers, and distribution's
// where `make registry` has built it.
func targets(t *testing.T) map[string]Target {
	t.Helper()
	all := map[string]Target{}
	for name, referrers := range map[string]bool{"with referrers": true, "without referrers": false} {
		server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers)))
		t.Cleanup(server.Close)
		all[name] = Target{Registry: strings.TrimPrefix(server.URL, "http://") + "/mirror"}
	}
	if address, ok := realregistry.Start(t); ok {
		all["distribution"] = Target{Registry: address + "/mirror"}
	}
	return all
}

var tests = []imagefile.Test{{Name: "starts", Command: []string{"/x"}}}

// archive writes an image and the record of its tests; failed are the tests that failed.
func archive(t *testing.T, arch, content string, failed ...string) Platform {
	t.Helper()
	dir := t.TempDir()
	layer := filepath.Join(dir, "layer.tar")
	if err := os.WriteFile(layer, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := images.Assemble(layer, arch, v1.Config{Entrypoint: []string{"/x"}})
	if err != nil {
		t.Fatal(err)
	}
	p := Platform{Arch: arch, Archive: filepath.Join(dir, "image.tar")}
	p.SBOM, p.Record = p.Archive+".spdx.json", p.Archive+imagetest.RecordSuffix
	file, err := os.Create(p.Archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := images.WriteImage(file, "registry.k8s.io/pause:1", img); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.SBOM, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.record(t, tested, failed...)
	return p
}

// tested is the time of the tests of archive.
var tested = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// record writes a record of tests that ended at that time; failed are the tests that failed.
func (p Platform) record(t *testing.T, at time.Time, failed ...string) {
	t.Helper()
	var passed []string
	if len(failed) == 0 {
		passed = []string{"starts"}
	}
	_, manifest, err := images.ReadImageIndex(p.Archive)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := imagetest.NewStatement("registry.k8s.io/pause:1", manifest, tests, passed, failed, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := statement.Write(p.Archive); err != nil {
		t.Fatal(err)
	}
}

func tagged(t *testing.T, target Target, tag string) string {
	t.Helper()
	repository, err := target.repository("registry.k8s.io/pause")
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(repository.Tag(tag))
	if err != nil {
		return ""
	}
	return d.Digest.String()
}

func TestPushAndPromote(t *testing.T) {
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			image := Image{Name: "registry.k8s.io/pause", Version: "1", Platforms: []Platform{archive(t, "amd64", "a"), archive(t, "arm64", "b")}}
			digest, err := Push(t.Context(), target, image)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := Push(t.Context(), target, image); err != nil || again != digest {
				t.Errorf("pushed again as %s (%v), want %s", again, err, digest)
			}
			if got := tagged(t, target, "1-testing"); got != digest {
				t.Errorf("testing has %s, want %s", got, digest)
			}
			if _, err := Promote(t.Context(), target, image.Name, "1", Production, nil); err == nil {
				t.Error("promoted to production from a stage that does not have it")
			}
			for _, stage := range []Stage{Staging, Production} {
				got, err := Promote(t.Context(), target, image.Name, "1", stage, nil)
				if err != nil || got != digest || tagged(t, target, stage.Tag("1")) != digest {
					t.Errorf("%s: promoted %s (%v), want %s", stage, got, err, digest)
				}
			}
		})
	}
}

// TestPromoteAsksForVerify: verify gets the digests of the image and decides before
// the tag is moved.
func TestPromoteAsksForVerify(t *testing.T) {
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			image := Image{Name: "registry.k8s.io/pause", Version: "2", Platforms: []Platform{archive(t, "amd64", "a"), archive(t, "arm64", "b")}}
			if _, err := Push(t.Context(), target, image); err != nil {
				t.Fatal(err)
			}
			unhealthy := errors.New("unhealthy")
			var asked map[string]string
			_, err := Promote(t.Context(), target, image.Name, "2", Staging, func(digests map[string]string) error { asked = digests; return unhealthy })
			if !errors.Is(err, unhealthy) || tagged(t, target, "2-staging") != "" {
				t.Errorf("promoted although the cluster is unhealthy: %v", err)
			}
			for _, p := range image.Platforms {
				_, manifest, err := images.ReadImageIndex(p.Archive)
				if err != nil || asked[p.Arch] != manifest {
					t.Errorf("asked for %v, want %s for %s (%v)", asked, manifest, p.Arch, err)
				}
			}
		})
	}
}

// TestPromoteRefuses: one architecture whose tests failed, or were not run, prevents
// the promotion of all.
func TestPromoteRefuses(t *testing.T) {
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			untested := archive(t, "arm64", "d")
			untested.Record = ""
			foreign := archive(t, "arm64", "e")
			foreign.Record = archive(t, "arm64", "f").Record
			for version, platform := range map[string]Platform{"failed": archive(t, "arm64", "c", "stops"), "untested": untested, "foreign": foreign} {
				image := Image{Name: "registry.k8s.io/pause", Version: version, Platforms: []Platform{archive(t, "amd64", "a"), platform}}
				if _, err := Push(t.Context(), target, image); err != nil {
					t.Fatal(err)
				}
				_, err := Promote(t.Context(), target, image.Name, version, Staging, nil)
				if !errors.Is(err, ErrNotGreen) {
					t.Errorf("%s: error is %v, want that its tests are not green", version, err)
				}
				if got := tagged(t, target, Staging.Tag(version)); got != "" {
					t.Errorf("%s: staging has %s", version, got)
				}
			}
			if _, err := Promote(t.Context(), target, "registry.k8s.io/pause", "1", Testing, nil); err == nil {
				t.Error("promoted to testing")
			}
		})
	}
}

// TestLatestRecordDecides: tests that failed once and pass when they are repeated are
// green, whichever record was pushed last.
func TestLatestRecordDecides(t *testing.T) {
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			p := archive(t, "amd64", "repeated", "stops")
			image := Image{Name: "registry.k8s.io/pause", Version: "3", Platforms: []Platform{p}}
			for _, step := range []struct {
				at     time.Time
				failed []string
				green  bool
			}{
				{tested, []string{"stops"}, false},
				{tested.Add(time.Hour), nil, true},
				{tested.Add(2 * time.Hour), []string{"stops"}, false},
				{tested.Add(3 * time.Hour), nil, true},
				{tested.Add(time.Minute), []string{"stops"}, true},    // pushed late, from another machine
				{time.Time{}, []string{"stops"}, true},                // of a former version
				{tested.Add(3 * time.Hour), []string{"stops"}, false}, // at the same time: not known to be older
			} {
				p.record(t, step.at, step.failed...)
				if _, err := Push(t.Context(), target, image); err != nil {
					t.Fatal(err)
				}
				_, err := Promote(t.Context(), target, image.Name, "3", Staging, nil)
				if step.green && err != nil || !step.green && !errors.Is(err, ErrNotGreen) {
					t.Errorf("after the record of %v with failed tests %q: %v", step.at, step.failed, err)
				}
			}
		})
	}
}

// TestOtherStatementsDoNotCount: statements that refer to the image and are no
// records of its tests have no effect: a record of another digest, and the provenance
// of the image.
func TestOtherStatementsDoNotCount(t *testing.T) {
	for name, target := range targets(t) {
		t.Run(name, func(t *testing.T) {
			p, foreign := archive(t, "amd64", "green"), archive(t, "amd64", "red", "stops")
			record, err := os.ReadFile(foreign.Record)
			if err != nil {
				t.Fatal(err)
			}
			img, err := images.OpenImage(p.Archive)
			if err != nil {
				t.Fatal(err)
			}
			subject, err := partial.Descriptor(img)
			if err != nil {
				t.Fatal(err)
			}
			image := Image{Name: "registry.k8s.io/pause", Version: "4", Platforms: []Platform{p}}
			repository, err := target.repository(image.Name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Push(t.Context(), target, image); err != nil {
				t.Fatal(err)
			}
			provenance := []byte(`{"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1"}`)
			for _, content := range [][]byte{record, provenance} {
				if err := attach(t.Context(), repository, *subject, recordType, content); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Promote(t.Context(), target, image.Name, "4", Staging, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

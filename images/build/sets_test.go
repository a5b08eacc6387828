package build

import (
	"maps"
	"slices"
	"testing"

	"deployer/images"
)

// TestSetsAreBuiltOnDemand: artifacts of a set are built only with the set or by name.
func TestSetsAreBuiltOnDemand(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"default":  {func(*Options) {}, nil},
		"with set": {func(o *Options) { o.Sets = []string{"calico"} }, []string{"calico-cni", "calico-crds", "calico-kube-controllers", "calico-node", "calico-typha", "calicoctl"}},
		"by name":  {func(o *Options) { o.Names = []string{"calicoctl", "calico-typha"} }, []string{"calico-typha", "calicoctl"}},
		"images":   {func(o *Options) { o.OnlyImages, o.Names = true, []string{"calico-cni"} }, []string{"calico-cni"}},
	} {
		b := fakeBuilder(t)
		for _, p := range []string{"bash", "bird", "coreutils", "dash", "debianutils", "iproute2", "net-tools", "procps", "runit"} {
			b.fakeDeb(t, deb{Name: p, Version: "1", Arch: "amd64"}, map[string]string{"usr/bin/" + p: p})
		}
		test.change(&b.options)
		outputs, err := b.outputs(t.Context(), "v1.36.3")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		index, built := &images.Index{}, map[string]bool{}
		for _, o := range outputs {
			if o.artifact.Set != "" {
				built[o.ref.Name] = true
				if o.ref.Version != calicoVersion {
					t.Errorf("%s: %s, want version %s", name, o.ref, calicoVersion)
				}
			}
			if err := b.noteVersion(index, o); err != nil {
				t.Fatal(err)
			}
		}
		if got := slices.Sorted(maps.Keys(built)); !slices.Equal(got, test.want) {
			t.Errorf("%s: built are %q, want %q", name, got, test.want)
		}
		if got := index.Versions["calico"]; (got == calicoVersion) != (len(test.want) > 0) {
			t.Errorf("%s: the index has version %q of Calico", name, got)
		}
	}
}

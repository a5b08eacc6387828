package build

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed modules pause/main.go shim/main.go
var sources embed.FS

// module is a Go project to build.
type module struct {
	// name is its directory under modules, or the directory of its main.go when own is set.
	name string
	own  bool
	// path is the module path of the project; empty for own.
	path string
	// tags are build tags; ldflags go to the linker beside "-s -w".
	tags    string
	ldflags string
	// tests are packages whose test binaries are built, too.
	tests []string
	// extra is set when the caller provides the files of the set.
	extra *Extra
}

// kubernetesModule sets the version as the publisher does; otherwise kubelet and kubectl
// report v0.0.0.
func kubernetesModule(version string) module {
	const pkg = "k8s.io/component-base/version"
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return module{
		name: "kubernetes-" + version, path: "k8s.io/kubernetes",
		ldflags: fmt.Sprintf("-X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s", pkg, version, parts[0], parts[1]),
	}
}

// kubernetesTestsModule has the programs of the conformance tests. e2e.test is a test binary. The
// tests compare the version with that of the API server.
func kubernetesTestsModule(version string) module {
	m := kubernetesModule(version)
	m.name, m.tests = "kubernetes-tests-"+version, []string{"k8s.io/kubernetes/test/e2e"}
	return m
}

func etcdModule(version string) module {
	return module{name: "etcd-" + version, path: "go.etcd.io/etcd/server/v3"}
}

// containerdModule leaves out the snapshotters that need C libraries.
func containerdModule(version string) module {
	return module{
		name: "containerd-" + version, path: "github.com/containerd/containerd/v2", tags: "no_btrfs no_devmapper no_zfs",
		ldflags: "-X github.com/containerd/containerd/v2/version.Version=" + version,
	}
}

func cniModule(version string) module {
	return module{
		name: "cni-plugins-" + version, path: "github.com/containernetworking/plugins",
		ldflags: "-X github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion=" + version,
	}
}

func corednsModule(version string) module {
	return module{name: "coredns-" + version, path: "github.com/coredns/coredns"}
}

// calicoVersion is the version of Calico that is built: module proxies have no release of the
// catalogue's.
const calicoVersion = "v3.28.4"

// calicoModule sets the version where the Makefiles of the publisher set it, one in each
// component.
func calicoModule() module {
	m := module{name: "calico-" + calicoVersion, path: "github.com/projectcalico/calico"}
	var flags []string
	for _, variable := range []string{
		"main.VERSION", m.path + "/node/pkg/lifecycle/startup.VERSION", m.path + "/node/buildinfo.GitVersion",
		m.path + "/felix/buildinfo.GitVersion", m.path + "/typha/pkg/buildinfo.GitVersion",
		m.path + "/calicoctl/calicoctl/commands.VERSION", m.path + "/calicoctl/calicoctl/commands/common.VERSION",
	} {
		flags = append(flags, "-X "+variable+"="+calicoVersion)
	}
	m.ldflags = strings.Join(flags, " ")
	return m
}

// files returns the existing files among go.mod, go.sum and main.go of the module, by
// their name in a build directory.
func (m module) files() (map[string][]byte, error) {
	if m.own {
		main, err := sources.ReadFile(m.name + "/main.go")
		goMod := fmt.Appendf(nil, "module deployer.build/%s\n\ngo 1.26\n", m.name)
		return map[string][]byte{"go.mod": goMod, "main.go": main}, err
	}
	if m.extra != nil {
		return map[string][]byte{"go.mod": m.extra.GoMod, "go.sum": m.extra.GoSum}, nil
	}
	files := map[string][]byte{}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := sources.ReadFile("modules/" + m.name + "/" + name + ".txt")
		if err != nil {
			return nil, fmt.Errorf("no recipe to build %s: %w", m.name, err)
		}
		files[name] = content
	}
	return files, nil
}

// key returns the digest of all inputs of the binaries.
func (m module) key(goVersion, arch string) (string, error) {
	files, err := m.files()
	if err != nil {
		return "", err
	}
	inputs := []string{
		"module", m.name, m.tags, m.ldflags, goVersion, arch,
		string(files["go.mod"]), string(files["go.sum"]), string(files["main.go"]),
	}
	return keyOf(append(inputs, m.tests...)...), nil
}

// compile builds the module into dir/bin, through a temporary directory, so that an
// interrupted build leaves nothing that looks complete.
func (m module) compile(ctx context.Context, arch, dir string) error {
	files, err := m.files()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".building-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(tmp, name), content, 0o644); err != nil {
			return err
		}
	}
	target := "tool" // the pattern for all `tool` lines of go.mod
	if m.own {
		target = "."
	}
	flags := []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", strings.TrimSpace("-s -w " + m.ldflags)}
	if m.tags != "" {
		flags = append(flags, "-tags", m.tags)
	}
	env := []string{
		"GO111MODULE=on", "GOWORK=off", "GOFLAGS=", "GOTOOLCHAIN=local", "CGO_ENABLED=0",
		"GOOS=linux", "GOARCH=" + arch, "GOAMD64=v1", "GOEXPERIMENT=",
	}
	if err := os.Mkdir(filepath.Join(tmp, "bin"), 0o755); err != nil {
		return err
	}
	commands := [][]string{slices.Concat([]string{"build"}, flags, []string{"-o", "bin/", target})}
	for _, p := range m.tests {
		commands = append(commands, slices.Concat([]string{"test", "-c"}, flags, []string{"-o", "bin/", p}))
	}
	for _, args := range commands {
		if _, err := run(ctx, tmp, env, "go", args...); err != nil {
			return fmt.Errorf("building %s: %w", m.name, err)
		}
	}
	err = os.Rename(tmp, dir)
	if _, statErr := os.Stat(dir); statErr == nil {
		return nil // made here, or by another process meanwhile: the same inputs
	}
	return err
}

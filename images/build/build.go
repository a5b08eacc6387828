package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"deployer/images"
	"deployer/images/imagefile"
)

// recipeVersion is part of every key: raise it for a change of a recipe that does not
// change its inputs.
const recipeVersion = "3"

// Options are the options of a build.
type Options struct {
	// Dir is the resulting directory source: artifacts.yaml and the files.
	Dir string
	// Work is the cache of compiled programs and downloaded packages; default: the directory
	// build beside the artifact store, see images.DefaultRoot.
	Work string
	// Kubernetes lists the versions; default: those of the catalogue.
	Kubernetes []string
	// Arch is the architecture in Go's spelling; default: that of this machine. Debian
	// packages of another architecture need `dpkg --add-architecture`.
	Arch string
	// Names limits the build to these artifacts and images of the graph, and their bases;
	// default: all of the catalogue that have no set.
	Names []string
	// Sets are sets of the catalogue that are built, too; [images.ConformanceSet] stands for the
	// images of conformance tests that have a recipe.
	Sets []string
	// Images is the graph of images; default: that of the project.
	Images *imagefile.Set
	// OnlyImages builds no files and archives, and without Names all images of the graph.
	OnlyImages bool
	// LockPath is the file with the packages of images; default: PackageLockName in Dir.
	LockPath string
	// Locked takes the packages in the lock, and reads only other ones from apt.
	Locked bool
	// Changed lists packages, by binary or source package, and bases of registries
	// that are resolved again in spite of Locked.
	Changed []string
	// Progress is called from one goroutine at a time; may be nil.
	Progress func(Event)
}

// State is the state of one output.
type State string

// The states of an output. Running is repeated every two seconds during the work.
const (
	Started State = "started"
	Running State = "running"
	Built   State = "built"
	Cached  State = "cached"
	Failed  State = "failed"
)

// Event is a progress report.
type Event struct {
	State State
	// What is the artifact, or "programs of <module>" while a module is compiled.
	What string
	// Image is the name of an image, in events of its output.
	Image string
	// Number counts the outputs that were begun, from 1 to Total.
	Number, Total int
	// Elapsed is the time since the start of What.
	Elapsed time.Duration
}

// builder holds the constant values of one Build.
type builder struct {
	catalogue *images.Catalogue
	images    *imagefile.Set
	lock      *PackageLock
	options   Options
	arch      string
	goVersion string
	debs      debCache
	progress  *reporter
	// compiling is held during a compilation, which uses all cores; indexLock during the
	// use of the index.
	compiling, indexLock sync.Mutex
	// moduleArchives has the files of modules by the archiveKey of their set; reading guards it.
	reading        sync.Mutex
	moduleArchives map[string]fs.FS
}

// Build makes every wanted artifact that is missing or has other inputs than before, and
// returns the index that it has written into options.Dir. Build makes several outputs at
// once, compiles one module set after another, since the Go compiler uses all cores, and
// waits for another process that builds into the same directory. A failure does not stop the other outputs; all errors
// are returned together, and the index lists the existing outputs.
func Build(ctx context.Context, catalogue *images.Catalogue, options Options) (*images.Index, error) {
	b, err := newBuilder(ctx, catalogue, options)
	if err != nil {
		return nil, fmt.Errorf("building artifacts: %w", err)
	}
	var release func() error
	err = b.progress.during("turn to build into "+b.options.Dir, func() error {
		release, err = exclusive(ctx, b.options.Dir)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("building artifacts: %w", err)
	}
	defer release()
	index, err := images.ReadIndex(b.options.Dir)
	if errors.Is(err, os.ErrNotExist) {
		index, err = &images.Index{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("building artifacts: %w", err)
	}
	var all []*output
	err = b.progress.during("list of Debian packages", func() error {
		for _, kubernetes := range b.options.Kubernetes {
			some, err := b.outputs(ctx, kubernetes)
			if err != nil {
				return fmt.Errorf("building artifacts for kubernetes %s: %w", kubernetes, err)
			}
			all = append(all, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := b.lock.Write(); err != nil {
		return nil, err
	}
	return index, b.makeAll(ctx, index, distinct(all))
}

// distinct returns the first output of each ref: Kubernetes versions share most of them.
func distinct(all []*output) []*output {
	seen := map[images.Ref]bool{}
	return slices.DeleteFunc(all, func(o *output) bool {
		double := seen[o.ref]
		seen[o.ref] = true
		return double
	})
}

func newBuilder(ctx context.Context, catalogue *images.Catalogue, options Options) (*builder, error) {
	if options.Dir == "" {
		return nil, errors.New("the directory for the result is missing")
	}
	if options.Work == "" {
		root, err := images.DefaultRoot()
		if err != nil {
			return nil, err
		}
		options.Work = filepath.Join(root, "build")
	}
	if options.Arch == "" {
		options.Arch = runtime.GOARCH
	}
	if len(options.Kubernetes) == 0 {
		options.Kubernetes = []string{catalogue.Default}
	}
	if options.Images == nil {
		set, err := imagefile.Embedded()
		if err != nil {
			return nil, err
		}
		options.Images = set
	}
	for _, name := range options.Names {
		if _, err := catalogue.Artifact(name); err != nil && !options.Images.Has(name) {
			return nil, fmt.Errorf("%w; images are %s", err, strings.Join(options.Images.Names(), ", "))
		}
	}
	for _, set := range options.Sets {
		if sets := append(catalogue.Sets(), images.ConformanceSet); !slices.Contains(sets, set) {
			return nil, fmt.Errorf("no set of artifacts %q in the catalogue, there are %s", set, strings.Join(sets, ", "))
		}
	}
	if options.LockPath == "" {
		options.LockPath = filepath.Join(options.Dir, PackageLockName)
	}
	lock, err := ReadPackageLock(options.LockPath)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(options.Dir, 0o755); err != nil {
		return nil, err
	}
	version, err := run(ctx, "", []string{"GOTOOLCHAIN=local", "GOFLAGS="}, "go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	debs, err := openDebCache(filepath.Join(options.Work, "debs"), options.Arch)
	if err == nil {
		debs, err = debs.withForeignLists(ctx, filepath.Join(options.Work, "apt"))
	}
	if err != nil {
		return nil, err
	}
	return &builder{
		catalogue: catalogue, images: options.Images, lock: lock, options: options, arch: options.Arch, debs: debs,
		moduleArchives: map[string]fs.FS{},
		goVersion:      strings.TrimSpace(string(version)), progress: &reporter{report: options.Progress},
	}, nil
}

// wanted reports whether the build includes an artifact of the catalogue.
func (b *builder) wanted(a images.Artifact) bool {
	if len(b.options.Names) > 0 {
		return slices.Contains(b.options.Names, a.Name)
	}
	return a.Set == "" || slices.Contains(b.options.Sets, a.Set)
}

// keys joins the keys of several modules.
func (b *builder) keys(modules ...module) (string, error) {
	var all []string
	for _, m := range modules {
		key, err := m.key(b.goVersion, b.arch)
		if err != nil {
			return "", err
		}
		all = append(all, key)
	}
	return keyOf(all...), nil
}

// binaries compiles the module unless it is cached, and returns the path of each
// program.
func (b *builder) binaries(ctx context.Context, m module) (func(program string) string, error) {
	key, err := m.key(b.goVersion, b.arch)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.options.Work, "modules", m.name+"-"+key)
	at := func(program string) string { return filepath.Join(dir, "bin", program) }
	b.compiling.Lock()
	defer b.compiling.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return at, nil
	}
	return at, b.progress.during("programs of "+m.name, func() error { return m.compile(ctx, b.arch, dir) })
}

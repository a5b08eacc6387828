package imagefile

// Scratch is the base of an image without base.
const Scratch = "scratch"

// File declares one image.
type File struct {
	Name                   string            `yaml:"name" required:"true" doc:"Name of the image in the graph and on the command line. An image of the catalogue has its name there."`
	Image                  string            `yaml:"image" doc:"Full name of the image without tag, for example registry.example/team/tool; default: the name in the catalogue."`
	Version                string            `yaml:"version" doc:"Version, which is the tag; default: the version in the catalogue."`
	VersionOfPackage       string            `yaml:"version_of_package" doc:"Debian package whose version is the version of the image."`
	VersionOfArtifact      string            `yaml:"version_of_artifact" doc:"Artifact of the catalogue whose version is the version of the image."`
	Base                   string            `yaml:"base" required:"true" doc:"What the image begins with: scratch, the name of another image of the graph, or a reference to an image of a registry, for example registry.example/base:1."`
	Packages               []string          `yaml:"packages" doc:"Debian packages; their dependencies are installed too. A package with architectures, for example ltrace [amd64], is for these only."`
	CertificateAuthorities bool              `yaml:"certificate_authorities" doc:"Whether the image has the certificate authorities of Debian's ca-certificates; default false."`
	Modules                map[string]Module `yaml:"modules" json:",omitempty" doc:"Go module sets of your own, by the name that from has in binaries and files."`
	Binaries               []Binary          `yaml:"binaries" doc:"Programs that are compiled from Go modules."`
	Files                  []Entry           `yaml:"files" doc:"Files, directories and links, made in this order after packages and binaries."`
	User                   string            `yaml:"user" doc:"User and group of the program, for example 65532:65532; default: those of the base, or root."`
	Entrypoint             []string          `yaml:"entrypoint" doc:"Program and its first arguments."`
	Command                []string          `yaml:"command" doc:"Arguments of the entrypoint, or the program when there is none, that a pod may replace."`
	Env                    map[string]string `yaml:"env" doc:"Environment variables."`
	WorkingDir             string            `yaml:"working_dir" doc:"Directory in which the program starts; default /."`
	StopSignal             string            `yaml:"stop_signal" doc:"Signal that ends the program, for example SIGQUIT; default SIGTERM."`
	Tests                  []Test            `yaml:"tests" doc:"Commands that are run in the image by deployer images test."`

	// Dir is the directory of the file; empty for embedded files.
	Dir string `yaml:"-"`
}

// Module is a Go module set that the user pins.
type Module struct {
	Directory string            `yaml:"directory" required:"true" doc:"Directory with go.mod, whose tool lines name the packages of the programs, and go.sum; a relative path starts at the directory of the image file."`
	Path      string            `yaml:"path" doc:"Path of the module whose files the key files may take, for example example.org/tool/v2."`
	Tags      []string          `yaml:"tags" json:",omitempty" doc:"Build tags."`
	Variables map[string]string `yaml:"variables" json:",omitempty" doc:"Texts that the linker puts into variables of packages, for example example.org/tool/version.Version: v1.2.3."`
}

// Binary is one compiled program of an image.
type Binary struct {
	From    string `yaml:"from" required:"true" doc:"Go module set of the program: kubernetes, kubernetes-tests, etcd, coredns, containerd, cni-plugins, calico, pause, shim, or one of modules."`
	Program string `yaml:"program" required:"true" doc:"Name of the program in the set."`
	Path    string `yaml:"path" required:"true" doc:"Path in the image."`
}

// Entry is one change of the image's files. One of Content, Source, Link, MoveFrom
// and Directory selects the kind of change. From and DropLines are for Source.
type Entry struct {
	Path      string  `yaml:"path" required:"true" doc:"Path in the image."`
	Content   *string `yaml:"content" doc:"Content of the file."`
	Source    string  `yaml:"source" doc:"File whose content is taken; a relative path starts at the directory of the image file. With from: a file or directory of that module; a directory is taken with all files in it."`
	From      string  `yaml:"from" json:",omitempty" doc:"Go module set whose main module has the source: one of those of binaries but pause and shim."`
	DropLines string  `yaml:"drop_lines" json:",omitempty" doc:"Regular expression of lines of the source that the image's file does not have. At least one line must match."`
	Link      string  `yaml:"link" doc:"Target of a symbolic link."`
	MoveFrom  string  `yaml:"move_from" doc:"Path of a file of a package that is moved to path."`
	Directory bool    `yaml:"directory" doc:"Whether path is a directory; default false."`
	Mode      string  `yaml:"mode" doc:"Permissions in octal, in quotes; default 0644 for files and 0755 for directories. With a directory as source they are those of its files."`
}

// Test is one command that is run in the image.
type Test struct {
	Name    string   `yaml:"name" required:"true" doc:"What the command shows."`
	Command []string `yaml:"command" required:"true" doc:"Program and arguments; the entrypoint is not put before them."`
	Exit    int      `yaml:"exit" doc:"Exit code that is expected; default 0."`
	Output  string   `yaml:"output" doc:"Regular expression that the output, standard error included, must match; default: any output."`
	// StillRunning is for programs that only a signal ends.
	StillRunning bool   `yaml:"still_running" doc:"Whether the command must still run after two seconds, after which it is killed; default false."`
	User         string `yaml:"user" doc:"User and group of the command, as numbers; default: those of the image."`
}

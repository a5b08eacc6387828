package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"deployer/engine/sanitize"
	"deployer/project"
)

// checkLinks returns an error for symbolic links of a checkout that lead out of it or into
// the metadata of git: whoever may push could make CI read any file of its machine.
//
// Links within the checkout are followed: what they lead to is in the revision too, and
// inventories and roles share files by links. An absolute link leads out of the checkout,
// wherever that is on this machine, and so does one whose end cannot be found.
func checkLinks(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var found []error
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.Type()&fs.ModeSymlink == 0:
			return nil
		}
		if target := outwardTarget(root, name); target != "" {
			found = append(found, fmt.Errorf("%s: the link leads to %s, out of the repository: put the file itself into the repository", sanitize.Line(name), sanitize.Line(target)))
		}
		return nil
	})
	return errors.Join(append(found, err)...)
}

// outwardTarget returns the target of a link that leads out of root or into the metadata of git;
// empty for another one. The whole way counts: .. behind a link to a directory is above what the link
// leads to. A link to a file that does not exist is not followed by anybody.
func outwardTarget(root *os.Root, name string) string {
	target, err := root.Readlink(name)
	if err != nil {
		return err.Error()
	}
	switch _, err = root.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return target
	}
	if end, err := project.LinkTarget(root.Name(), name); err != nil || project.InGitMetadata(end) {
		return target
	}
	return ""
}

// requireLinks is checkLinks for a checkout of a revision that nobody has approved, or that the
// state names in an assessment, once for each checkout.
func (p *Pipeline) requireLinks(dir string) error {
	if !p.Unmerged {
		return nil
	}
	err, known := p.links[dir]
	if !known {
		err = checkLinks(dir)
		p.links[dir] = err
	}
	return err
}

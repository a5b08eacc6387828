// Package docgen generates the pages of docs/reference.
//
// The sources are those that the program uses: cobra's commands, the registry of tasks
// with the doc tags of their arguments, the types of the inventory, and the comments of
// the packages engine, cluster and compile, which it reads from the source tree. The
// hidden command `deployer docs` writes the pages; `deployer doc` and `deployer schema`
// show parts of them.
package docgen

// Package imagefile reads image files: YAML files that declare container images, one
// each, by what is in them, how they start and how they are tested. [Read] decodes one
// file, [Embedded] returns the images of the project, and [Set] is the graph of images
// by their bases. The package builds nothing, see images/build.
package imagefile

// Package imagefile reads image files: YAML files, each of which declares the
// content, the start and the tests of one container image. [Read] decodes one file,
// [Embedded] returns the images of the project, and [Set] is the graph of images by
// their bases. The package builds nothing, see images/build.
package imagefile

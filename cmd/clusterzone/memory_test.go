package main

import (
	"encoding/binary"
	"iter"
	"strconv"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

// TestMemoryIsGivenBack: the commit behind the reading of a large zone file gives
// memory back, once; that of a small one costs no collection.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	file := func(size int) *zones.Static {
		var sets iter.Seq[zones.StaticSet] = func(yield func(zones.StaticSet) bool) {
			for i := range size {
				data := zones.Rdata(binary.BigEndian.AppendUint32(nil, uint32(i)))
				set := &zones.RRSet{Name: zones.Root.Child("h" + strconv.Itoa(i)), Type: zones.TypeA, Data: []zones.Rdata{data}}
				if !yield(zones.StaticSet{RRSet: set, From: "file f line 1"}) {
					return
				}
			}
		}
		return zones.NewStatic(zones.Root, sets)
	}
	p := &pipeline{}
	if p.noteReading(file(10)); p.readLarge.Load() {
		t.Error("a small file is worth a collection")
	}
	if p.noteReading(file(manySets)); !p.readLarge.Load() {
		t.Error("a large file is not")
	}
	if p.tidy(); p.readLarge.Load() {
		t.Error("memory would be given back at each commit from now on")
	}
}

package host

import (
	"os"
	"reflect"
	"testing"

	"github.com/pinfold/pinfold/core"
)

// No field of a birth is lost between the backends and the command, whoever sets
// it, also one that is added later.
func TestMergeKeepsEveryField(t *testing.T) {
	fields := reflect.TypeFor[core.Birth]()
	for i := range fields.NumField() {
		var birth core.Birth
		field := reflect.ValueOf(&birth).Elem().Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Uint32, reflect.Uint64:
			field.SetUint(1)
		case reflect.Pointer:
			field.Set(reflect.ValueOf(os.Stdin))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			t.Fatalf("%s: a kind that this test does not know", fields.Field(i).Name)
		}
		for name, pair := range map[string][2]*core.Birth{"tracker": {&birth, {}}, "confiner": {{}, &birth}} {
			merged, err := merge(pair[0], pair[1])
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(reflect.ValueOf(merged).Elem().Field(i).Interface(), field.Interface()) {
				t.Errorf("%s of the %s is lost", fields.Field(i).Name, name)
			}
		}
	}
}

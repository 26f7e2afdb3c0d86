//! Tests of `q2c poll watch --kernel` and `q2c poll steer` where there is nothing to watch or
//! steer. Tests in guests cover the rest.

use crate::program::refuses;

#[test]
fn what_is_wrong_is_said() {
    refuses(&[
        "2 | poll watch --kernel | expected a device",
        "2 | poll watch --kernel nvme9n9 --policy poll | --policy",
        "5 | poll watch --kernel nvme9n9 --seconds 1 | nvme9n9",
        "5 | poll watch --kernel /dev/nowhere | /dev/nowhere",
        "2 | poll steer nvme9n9 | --rule",
        "2 | poll steer nvme9n9 --rule 0.7*average | average",
        "2 | poll steer nvme9n9 --rule min:7,10ms | min:7,10ms",
        "5 | poll steer nvme9n9 --rule min:70%,10ms | nvme9n9",
        "5 | poll steer nvme9n9 --rule 0.7*min --period 5ms | nvme9n9",
    ]);
}
